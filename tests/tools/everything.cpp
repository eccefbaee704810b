// Links the entire library, for tools that look up its symbols.
int main() {}
