export const reviews: readonly string[] = [
  // A charge under review whose hold stays with the key until an administrator has decided.
  `ALTER TABLE charge ADD COLUMN kept INTEGER NOT NULL DEFAULT 0`,
  // Set if created_at is from a clock that was ahead: the time until which the idempotency key is taken.
  `ALTER TABLE charge ADD COLUMN idem_until INTEGER`,
  // The administrator who decides about a charge under review may set its cost.
  `DROP TRIGGER line_open`,
  `CREATE TRIGGER line_open BEFORE INSERT ON line
    WHEN (SELECT state FROM charge WHERE id = NEW.charge_id) NOT IN ('reserved', 'needs_review')
    BEGIN SELECT RAISE(ABORT, 'a charge that has ended takes no more lines'); END`,

  // The spending of days and months that a key has left. If the clock is set back, the key enters such a period again.
  // The last few of each key are kept by the order in which the key left them: by time, a wrong clock would delete the
  // wrong rows.
  `CREATE TABLE spell (
    key_id TEXT NOT NULL REFERENCES key (id), period TEXT NOT NULL CHECK (period IN ('day', 'month')),
    start INTEGER NOT NULL, spent INTEGER NOT NULL CHECK (spent >= 0), turn INTEGER NOT NULL,
    PRIMARY KEY (key_id, period, start)) STRICT, WITHOUT ROWID`,
  ...(['day', 'month'] as const).map(
    period => `CREATE TRIGGER key_left_${period} AFTER UPDATE OF ${period}_start ON key
      WHEN (OLD.${period}_start <> NEW.${period}_start AND OLD.${period}_start > 0) BEGIN
      INSERT INTO spell (key_id, period, start, spent, turn) VALUES (OLD.id, '${period}', OLD.${period}_start,
        OLD.${period}_spent, (SELECT coalesce(max(s.turn), 0) + 1 FROM spell s WHERE s.key_id = OLD.id AND s.period = '${period}'))
        ON CONFLICT (key_id, period, start) DO UPDATE SET spent = excluded.spent, turn = excluded.turn;
      DELETE FROM spell WHERE key_id = OLD.id AND period = '${period}' AND turn <=
        (SELECT max(s.turn) - 8 FROM spell s WHERE s.key_id = OLD.id AND s.period = '${period}'); END`,
  ),

  // The identity of this database; copies of it have the same one.
  `INSERT INTO meta (name, value) VALUES ('identity', abs(random() % 9007199254740991))`,
]
