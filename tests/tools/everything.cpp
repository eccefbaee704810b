// Linked with the whole library, for tests that look symbols up.
int main() {}
