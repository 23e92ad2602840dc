export const adopted: readonly string[] = [
  // Whether there are keys that another gateway created: only then does the gateway look up a key that it cannot have
  // created itself.
  `INSERT INTO meta (name, value) VALUES ('foreign_keys', 0)`,
]
