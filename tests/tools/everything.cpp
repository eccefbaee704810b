// Linked with the entire library, for tests that look up symbols.
int main() {}
