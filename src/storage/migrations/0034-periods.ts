/**
 * The number of days of each payer that are kept, by the order in which the payer left them: the longest window has 90.
 */
const kept = 100

const ofKey = `s.key_id = OLD.id AND s.period = 'day'`
const ofAccount = `s.kind = OLD.kind AND s.name = OLD.name AND s.part = OLD.part AND s.period = 'day'`
/** The turn before which days are deleted. A day that is entered and left again uses turns, so the rows are counted. */
const since = (table: string, own: string): string =>
  `(SELECT s.turn FROM ${table} s WHERE ${own} ORDER BY s.turn DESC LIMIT 1 OFFSET ${kept - 1})`

/** A budget's period has many values: `week@sunday`, `30d`. A check is dropped with its column. */
const anyPeriod = (table: string): readonly string[] => [
  `ALTER TABLE ${table} ADD COLUMN budget_period_now TEXT NOT NULL DEFAULT 'total'`,
  `UPDATE ${table} SET budget_period_now = budget_period WHERE budget_period <> 'total'`,
  `ALTER TABLE ${table} DROP COLUMN budget_period`,
  `ALTER TABLE ${table} RENAME COLUMN budget_period_now TO budget_period`,
]

const revision = `(SELECT value FROM meta WHERE name = 'key_revision')`

/** As many days are kept of an account. */
export const accountLeftDay = `CREATE TRIGGER account_left_day AFTER UPDATE OF day_start ON account
    WHEN (OLD.day_start <> NEW.day_start AND OLD.day_start > 0) BEGIN
    INSERT INTO account_spell (kind, name, part, period, start, spent, turn) VALUES (OLD.kind, OLD.name, OLD.part, 'day',
      OLD.day_start, OLD.day_spent, (SELECT coalesce(max(s.turn), 0) + 1 FROM account_spell s WHERE ${ofAccount}))
      ON CONFLICT (kind, name, part, period, start) DO UPDATE SET spent = excluded.spent, turn = excluded.turn;
    DELETE FROM account_spell WHERE kind = OLD.kind AND name = OLD.name AND part = OLD.part AND period = 'day'
      AND turn < ${since('account_spell', ofAccount)}; END`

export const periods: readonly string[] = [
  `DROP TRIGGER key_changed`,
  ...anyPeriod('key'),
  ...anyPeriod('"user"'),
  // A soft budget only reports spending.
  `ALTER TABLE key ADD COLUMN budget_soft INTEGER NOT NULL DEFAULT 0 CHECK (budget_soft IN (0, 1))`,
  `ALTER TABLE "user" ADD COLUMN budget_soft INTEGER NOT NULL DEFAULT 0 CHECK (budget_soft IN (0, 1))`,
  `CREATE TRIGGER key_changed AFTER UPDATE OF name, user_name, group_name, hash, old_hash, old_until, status, expires_at,
      models, ips, limits, budget, budget_period, budget_soft
    ON key BEGIN UPDATE meta SET value = value + 1 WHERE name = 'key_revision';
      INSERT INTO key_change (revision, key_id) VALUES (${revision}, OLD.id);
      DELETE FROM key_change WHERE revision <= ${revision} - 1000; END`,

  // Weeks and rolling periods are sums of days, so more days are kept.
  `DROP TRIGGER key_left_day`,
  `CREATE TRIGGER key_left_day AFTER UPDATE OF day_start ON key
    WHEN (OLD.day_start <> NEW.day_start AND OLD.day_start > 0) BEGIN
    INSERT INTO spell (key_id, period, start, spent, turn) VALUES (OLD.id, 'day', OLD.day_start, OLD.day_spent,
      (SELECT coalesce(max(s.turn), 0) + 1 FROM spell s WHERE ${ofKey}))
      ON CONFLICT (key_id, period, start) DO UPDATE SET spent = excluded.spent, turn = excluded.turn;
    DELETE FROM spell WHERE key_id = OLD.id AND period = 'day' AND turn < ${since('spell', ofKey)}; END`,
  `DROP TRIGGER account_left_day`,
  accountLeftDay,
]
