int end_of_forked_start(void);
int main(void) { return end_of_forked_start(); }
