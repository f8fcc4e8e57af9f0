def pytest_configure(config):
    config.addinivalue_line("markers", "alone: nothing else may run beside it; only in './run.sh test --full'")
    config.addinivalue_line("markers", "full: takes minutes; only in './run.sh test --full'")
