// Links the entire library, so that tools can look up its symbols.
int main() {}
