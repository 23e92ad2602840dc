export const answerCache: readonly string[] = [
  // Cached answers of requests that began up to a moment are not used any more: for a model, for a key, or for all
  // ('').
  `CREATE TABLE answer_purge (
    model TEXT NOT NULL, key_id TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (model, key_id)) STRICT, WITHOUT ROWID`,
  // Whether a key uses cached answers: 'on', 'off', or null for the model's setting.
  `ALTER TABLE key ADD COLUMN cache TEXT`,
]
