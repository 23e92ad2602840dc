const chargeFacts = `id, key_id, user_name, group_name, operation, model, family, upstream, config_revision, currency, size,
  quality, n, rule, state, reason, hold, amount, line_count, owner, epoch, lease_until, created_at, ended_at`

export const start: readonly string[] = [
  // Single numbers. `epoch`: the epoch of the current gateway. `key_revision`: increases when a key or user changes.
  `CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
  `INSERT INTO meta (name, value) VALUES ('epoch', 0), ('key_revision', 1)`,

  `CREATE TABLE "user" (
    name TEXT PRIMARY KEY, group_name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('user', 'admin')),
    status TEXT NOT NULL CHECK (status IN ('active', 'disabled')),
    password_hash TEXT, created_at INTEGER NOT NULL) STRICT`,
  `INSERT INTO "user" (name, group_name, role, status, created_at)
    VALUES ('local', 'default', 'user', 'active', unixepoch() * 1000)`,

  `CREATE TABLE key (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, user_name TEXT NOT NULL REFERENCES "user" (name), group_name TEXT,
    hash TEXT NOT NULL UNIQUE, hint TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('active', 'disabled', 'revoked')),
    expires_at INTEGER, models TEXT, ips TEXT, limits TEXT NOT NULL DEFAULT '{}',
    budget INTEGER CHECK (budget >= 0), spent INTEGER NOT NULL DEFAULT 0 CHECK (spent >= 0),
    held INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0),
    created_at INTEGER NOT NULL, last_used_at INTEGER) STRICT`,
  `CREATE INDEX key_user ON key (user_name, id)`,
  `CREATE TRIGGER key_made AFTER INSERT ON key BEGIN
    UPDATE meta SET value = value + 1 WHERE name = 'key_revision'; END`,
  `CREATE TRIGGER key_changed AFTER UPDATE OF name, user_name, group_name, hash, status, expires_at, models, ips, limits, budget
    ON key BEGIN UPDATE meta SET value = value + 1 WHERE name = 'key_revision'; END`,
  `CREATE TRIGGER key_gone AFTER DELETE ON key BEGIN
    UPDATE meta SET value = value + 1 WHERE name = 'key_revision'; END`,
  `CREATE TRIGGER user_changed AFTER UPDATE ON "user" BEGIN
    UPDATE meta SET value = value + 1 WHERE name = 'key_revision'; END`,

  // Amounts are micro-units. While a charge is reserved, amount and line_count grow with its lines.
  `CREATE TABLE charge (
    id TEXT PRIMARY KEY, key_id TEXT NOT NULL REFERENCES key (id), user_name TEXT NOT NULL, group_name TEXT NOT NULL,
    operation TEXT NOT NULL, model TEXT NOT NULL, family TEXT NOT NULL, upstream TEXT NOT NULL,
    config_revision TEXT NOT NULL, currency TEXT NOT NULL, size TEXT, quality TEXT, n INTEGER NOT NULL, rule TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('reserved', 'settled', 'voided', 'needs_review')), reason TEXT,
    hold INTEGER NOT NULL CHECK (hold >= 0), amount INTEGER NOT NULL DEFAULT 0 CHECK (amount >= 0),
    line_count INTEGER NOT NULL DEFAULT 0 CHECK (line_count >= 0),
    delivery TEXT NOT NULL DEFAULT 'unconfirmed' CHECK (delivery IN ('unconfirmed', 'partial', 'confirmed')),
    owner TEXT NOT NULL, epoch INTEGER NOT NULL, lease_until INTEGER,
    idem_key TEXT, idem_fingerprint TEXT, created_at INTEGER NOT NULL, ended_at INTEGER) STRICT`,
  `CREATE UNIQUE INDEX charge_idem ON charge (key_id, operation, idem_key) WHERE idem_key IS NOT NULL`,
  `CREATE INDEX charge_reserved ON charge (epoch) WHERE state = 'reserved'`,
  `CREATE INDEX charge_review ON charge (ended_at) WHERE state = 'needs_review'`,

  `CREATE TABLE line (
    charge_id TEXT NOT NULL REFERENCES charge (id) DEFERRABLE INITIALLY DEFERRED, idx INTEGER NOT NULL CHECK (idx >= 0), tier TEXT NOT NULL,
    source TEXT NOT NULL CHECK (source IN ('output', 'request', 'default')), width INTEGER, height INTEGER,
    price INTEGER NOT NULL CHECK (price >= 0), flags TEXT NOT NULL, quantity INTEGER CHECK (quantity >= 0),
    PRIMARY KEY (charge_id, idx)) STRICT, WITHOUT ROWID`,

  // Debit and credit name accounts; each chain of hashes has one writer.
  `CREATE TABLE entry (
    chain TEXT NOT NULL, position INTEGER NOT NULL, charge_id TEXT NOT NULL REFERENCES charge (id),
    kind TEXT NOT NULL CHECK (kind IN ('settle', 'refund', 'void')), debit TEXT NOT NULL, credit TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount >= 0), actor TEXT NOT NULL, reason TEXT, created_at INTEGER NOT NULL,
    digest TEXT NOT NULL, prev_hash TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (chain, position)) STRICT`,
  `CREATE UNIQUE INDEX entry_charge ON entry (charge_id, kind)`,
  `CREATE TABLE chain (id TEXT PRIMARY KEY, position INTEGER NOT NULL, head TEXT NOT NULL) STRICT, WITHOUT ROWID`,

  // Triggers that prevent changes of past records.
  `CREATE TRIGGER charge_terminal BEFORE UPDATE OF ${chargeFacts} ON charge WHEN OLD.state IN ('settled', 'voided')
    BEGIN SELECT RAISE(ABORT, 'a settled or voided charge does not change'); END`,
  `CREATE TRIGGER charge_ended BEFORE UPDATE OF state ON charge WHEN NEW.state = 'reserved' AND OLD.state <> 'reserved'
    BEGIN SELECT RAISE(ABORT, 'a charge that has ended is not reserved again'); END`,
  `CREATE TRIGGER charge_stays BEFORE DELETE ON charge BEGIN SELECT RAISE(ABORT, 'charges are not deleted'); END`,
  `CREATE TRIGGER line_open BEFORE INSERT ON line
    WHEN (SELECT state FROM charge WHERE id = NEW.charge_id) <> 'reserved'
    BEGIN SELECT RAISE(ABORT, 'a charge that has ended takes no more lines'); END`,
  `CREATE TRIGGER line_same BEFORE UPDATE ON line BEGIN SELECT RAISE(ABORT, 'lines do not change'); END`,
  `CREATE TRIGGER line_stays BEFORE DELETE ON line BEGIN SELECT RAISE(ABORT, 'lines are not deleted'); END`,
  `CREATE TRIGGER entry_same BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'entries do not change'); END`,
  `CREATE TRIGGER entry_stays BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'entries are not deleted'); END`,

  // Responses of requests with an idempotency key, stored for at most 24 hours.
  `CREATE TABLE answer (
    charge_id TEXT PRIMARY KEY REFERENCES charge (id), status INTEGER NOT NULL, headers TEXT NOT NULL, body BLOB NOT NULL,
    expires_at INTEGER NOT NULL) STRICT`,
  `CREATE INDEX answer_expires ON answer (expires_at)`,

  // Ids are ordered by time, so every index that ends in id is also in order of time.
  `CREATE TABLE log (
    id TEXT PRIMARY KEY, time INTEGER NOT NULL, key_id TEXT, user_name TEXT, group_name TEXT, model TEXT,
    operation TEXT NOT NULL, status INTEGER,
    outcome TEXT NOT NULL CHECK (outcome IN ('answered', 'refused', 'caller_gone', 'upstream_cut', 'deadline')),
    error_code TEXT, duration_ms INTEGER NOT NULL, upstream TEXT, config_revision TEXT NOT NULL, forwarded TEXT NOT NULL,
    dropped TEXT NOT NULL, client_request_id TEXT, input_tokens INTEGER, output_tokens INTEGER) STRICT, WITHOUT ROWID`,
  `CREATE INDEX log_key ON log (key_id, id)`,
  `CREATE INDEX log_user ON log (user_name, id)`,
  `CREATE INDEX log_model ON log (model, id)`,

  `CREATE TABLE probe (id INTEGER PRIMARY KEY, filler BLOB NOT NULL) STRICT`,
]
