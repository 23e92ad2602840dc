export const erased: readonly string[] = [
  // A person who was erased: their row has another name, and records the name that the ledger has for as long as it
  // does, so that no other person gets that. Until `late_until` rows that were still in flight are searched.
  `ALTER TABLE "user" ADD COLUMN erased_at INTEGER`,
  `ALTER TABLE "user" ADD COLUMN booked_as TEXT`,
  `ALTER TABLE "user" ADD COLUMN late_until INTEGER`,
  `CREATE UNIQUE INDEX user_booked_as ON "user" (booked_as) WHERE booked_as IS NOT NULL`,

  // What happened, when and by what action does not change; who it was does, in the transaction that erases them.
  `INSERT INTO meta (name, value) VALUES ('erasing', 0)`,
  `DROP TRIGGER trail_same`,
  `CREATE TRIGGER trail_same BEFORE UPDATE ON trail
    WHEN (NEW.id <> OLD.id OR NEW.at <> OLD.at OR NEW.action <> OLD.action
      OR NOT EXISTS (SELECT 1 FROM meta WHERE name = 'erasing' AND value = 1))
    BEGIN SELECT RAISE(ABORT, 'the trail does not change'); END`,
]
