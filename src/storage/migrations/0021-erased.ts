export const erased: readonly string[] = [
  // A person who was erased: the row has another name, and records the name in the ledger as long as the ledger has it,
  // so that no other person gets it. Until `late_until` the gateway searches for rows that were still in flight.
  `ALTER TABLE "user" ADD COLUMN erased_at INTEGER`,
  `ALTER TABLE "user" ADD COLUMN booked_as TEXT`,
  `ALTER TABLE "user" ADD COLUMN late_until INTEGER`,
  `CREATE UNIQUE INDEX user_booked_as ON "user" (booked_as) WHERE booked_as IS NOT NULL`,

  // The event, time and action of a row do not change; the person's name does, in the transaction that erases the
  // person.
  `INSERT INTO meta (name, value) VALUES ('erasing', 0)`,
  `DROP TRIGGER trail_same`,
  `CREATE TRIGGER trail_same BEFORE UPDATE ON trail
    WHEN (NEW.id <> OLD.id OR NEW.at <> OLD.at OR NEW.action <> OLD.action
      OR NOT EXISTS (SELECT 1 FROM meta WHERE name = 'erasing' AND value = 1))
    BEGIN SELECT RAISE(ABORT, 'the trail does not change'); END`,
]
