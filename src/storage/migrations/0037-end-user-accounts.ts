import { accountLeftDay } from './0034-periods.ts'
import { accountLeft } from './0015-accounts.ts'

const columns = `kind, name, part, spent, held, day_start, day_spent, month_start, month_spent, budget_told`

export const endUserAccounts: readonly string[] = [
  // An end user has an account too. SQLite cannot change the check of a column, and this one is in the primary key: the
  // table is created again, without a check of kinds.
  'DROP TRIGGER account_left_day',
  'DROP TRIGGER account_left_month',
  `CREATE TABLE account_now (
    kind TEXT NOT NULL, name TEXT NOT NULL, part TEXT NOT NULL,
    spent INTEGER NOT NULL DEFAULT 0, held INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0),
    day_start INTEGER NOT NULL DEFAULT 0, day_spent INTEGER NOT NULL DEFAULT 0,
    month_start INTEGER NOT NULL DEFAULT 0, month_spent INTEGER NOT NULL DEFAULT 0, budget_told TEXT,
    PRIMARY KEY (kind, name, part)) STRICT, WITHOUT ROWID`,
  `INSERT INTO account_now (${columns}) SELECT ${columns} FROM account`,
  'DROP TABLE account',
  'ALTER TABLE account_now RENAME TO account',
  accountLeft('month'),
  accountLeftDay,
]
