export const adopted: readonly string[] = [
  // Whether keys are here that another gateway made: only then is one looked up that this gateway cannot have made.
  `INSERT INTO meta (name, value) VALUES ('foreign_keys', 0)`,
]
