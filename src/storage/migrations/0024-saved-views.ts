export const savedViews: readonly string[] = [
  // Filters of console pages that users have saved under a name.
  `CREATE TABLE saved_view (
    user_name TEXT NOT NULL, page TEXT NOT NULL, name TEXT NOT NULL, place INTEGER NOT NULL, query TEXT NOT NULL,
    PRIMARY KEY (user_name, page, name)) STRICT, WITHOUT ROWID`,
]
