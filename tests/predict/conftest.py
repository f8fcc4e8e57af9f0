def pytest_configure(config):
    config.addinivalue_line("markers", "full: takes minutes; only in './run.sh test --full'")
