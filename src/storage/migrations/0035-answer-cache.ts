export const answerCache: readonly string[] = [
  // Kept answers of requests that began up to a moment are not used any more: of a model, of a key, or of all ('').
  `CREATE TABLE answer_purge (
    model TEXT NOT NULL, key_id TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (model, key_id)) STRICT, WITHOUT ROWID`,
  // Whether a key uses kept answers: 'on', 'off', or null for what the model says.
  `ALTER TABLE key ADD COLUMN cache TEXT`,
]
