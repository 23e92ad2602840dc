/** Stores the spending of an account in a day or month when it leaves that period. */
export const accountLeft = (period: 'day' | 'month'): string => {
  const its = `s.kind = OLD.kind AND s.name = OLD.name AND s.part = OLD.part AND s.period = '${period}'`
  return `CREATE TRIGGER account_left_${period} AFTER UPDATE OF ${period}_start ON account
    WHEN (OLD.${period}_start <> NEW.${period}_start AND OLD.${period}_start > 0) BEGIN
    INSERT INTO account_spell (kind, name, part, period, start, spent, turn) VALUES (OLD.kind, OLD.name, OLD.part, '${period}',
      OLD.${period}_start, OLD.${period}_spent, (SELECT coalesce(max(s.turn), 0) + 1 FROM account_spell s WHERE ${its}))
      ON CONFLICT (kind, name, part, period, start) DO UPDATE SET spent = excluded.spent, turn = excluded.turn;
    DELETE FROM account_spell WHERE kind = OLD.kind AND name = OLD.name AND part = OLD.part AND period = '${period}'
      AND turn <= (SELECT max(s.turn) - 8 FROM account_spell s WHERE ${its}); END`
}

export const accounts: readonly string[] = [
  // The spending of users, groups and balances, and the holds of those with a limit. An account with a limit is held,
  // tested and booked in the row whose part is empty; for accounts without a limit each connection of PostgreSQL has
  // its own rows, so that no connection waits for another's commit, and the spending of an account is the sum of its
  // rows.
  `CREATE TABLE account (
    kind TEXT NOT NULL CHECK (kind IN ('user', 'balance', 'group')), name TEXT NOT NULL, part TEXT NOT NULL,
    spent INTEGER NOT NULL DEFAULT 0, held INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0),
    day_start INTEGER NOT NULL DEFAULT 0, day_spent INTEGER NOT NULL DEFAULT 0,
    month_start INTEGER NOT NULL DEFAULT 0, month_spent INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (kind, name, part)) STRICT, WITHOUT ROWID`,
  // Like `spell` for keys: the spending of days and months that an account has left.
  `CREATE TABLE account_spell (
    kind TEXT NOT NULL, name TEXT NOT NULL, part TEXT NOT NULL, period TEXT NOT NULL CHECK (period IN ('day', 'month')),
    start INTEGER NOT NULL, spent INTEGER NOT NULL, turn INTEGER NOT NULL,
    PRIMARY KEY (kind, name, part, period, start)) STRICT, WITHOUT ROWID`,
  ...(['day', 'month'] as const).map(accountLeft),

  // The payers besides the key: the accounts that the charge is held from and booked on.
  `ALTER TABLE charge ADD COLUMN levels TEXT`,

  // The budget for all keys of a user; the total of all payments for the user, null if there were none.
  `ALTER TABLE "user" ADD COLUMN budget INTEGER CHECK (budget >= 0)`,
  `ALTER TABLE "user" ADD COLUMN budget_period TEXT NOT NULL DEFAULT 'total' CHECK (budget_period IN ('total', 'day', 'month'))`,
  `ALTER TABLE "user" ADD COLUMN balance INTEGER CHECK (balance >= 0)`,

  // Payments, as entries of the chains.
  `CREATE TABLE topup (
    chain TEXT NOT NULL, position INTEGER NOT NULL, charge_id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind = 'topup'), debit TEXT NOT NULL, credit TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0), actor TEXT NOT NULL, reason TEXT, created_at INTEGER NOT NULL,
    digest TEXT NOT NULL, prev_hash TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (chain, position)) STRICT`,
  `CREATE UNIQUE INDEX topup_id ON topup (charge_id)`,
  `CREATE INDEX topup_credit ON topup (credit, charge_id)`,
  `CREATE TRIGGER topup_same BEFORE UPDATE ON topup BEGIN SELECT RAISE(ABORT, 'topups do not change'); END`,
  `CREATE TRIGGER topup_stays BEFORE DELETE ON topup BEGIN SELECT RAISE(ABORT, 'topups are not deleted'); END`,
]
