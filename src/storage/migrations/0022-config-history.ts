export const configHistory: readonly string[] = [
  // Configurations that took effect, their texts without secrets. Each follows the newest one: of several processes
  // that apply the same configuration, one stores it.
  `CREATE TABLE config_history (
    number INTEGER NOT NULL, at INTEGER NOT NULL, revision TEXT NOT NULL, mark TEXT NOT NULL, how TEXT NOT NULL, actor TEXT,
    version TEXT NOT NULL, changes TEXT NOT NULL, change_count INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (number)) STRICT, WITHOUT ROWID`,
  // A stored configuration does not change; the name of the person who applied it does, in the transaction that erases
  // the person.
  `CREATE TRIGGER config_history_same BEFORE UPDATE ON config_history
    WHEN (NEW.number <> OLD.number OR NEW.at <> OLD.at OR NEW.revision <> OLD.revision OR NEW.mark <> OLD.mark
      OR NOT EXISTS (SELECT 1 FROM meta WHERE name = 'erasing' AND value = 1))
    BEGIN SELECT RAISE(ABORT, 'the history does not change'); END`,
]
