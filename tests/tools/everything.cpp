// Linked with the entire library, for symbol lookups.
int main() {}
