/** Actors other than the holder of a key, and administrators. */
const others = `(t.actor <> key.user_name OR EXISTS (SELECT 1 FROM "user" a WHERE a.name = t.actor AND a.role = 'admin'))`
const isTheirs = `EXISTS (SELECT 1 FROM trail t WHERE t.subject = key.id AND t.action IN ('key.create', 'key.change') AND ${others})`
/** The last actor that changed the key. */
const setter = `(SELECT t.actor FROM trail t WHERE t.subject = key.id AND t.action IN ('key.create', 'key.change')
  AND ${others} ORDER BY t.id DESC LIMIT 1)`
/** The name as JSON: names of older versions may contain any character. */
const quoted = `'"' || replace(replace(${setter}, '\\', '\\\\'), '"', '\\"') || '"'`

/** A bound with the key's current value, in JSON; `value` is SQL that gives JSON. */
const bound = (name: string, value: string): string => `'"${name}":{"to":' || ${value} || ',"by":' || ${quoted} || '}'`

const keep = (name: string, value: string, where: string): string =>
  `UPDATE key SET bounds = CASE bounds WHEN '{}' THEN '{' || ${bound(name, value)} || '}'
     ELSE substr(bounds, 1, length(bounds) - 1) || ',' || ${bound(name, value)} || '}' END
   WHERE kind = 'key' AND status <> 'revoked' AND ${where} AND ${isTheirs}`

export const bounds: readonly string[] = [
  // The limits for the holder of a key: the settings that administrators made, as JSON. A current setting counts as an
  // administrator's if one of them has created or changed the key.
  `ALTER TABLE key ADD COLUMN bounds TEXT NOT NULL DEFAULT '{}'`,
  keep('budget', `'{"amount":' || budget || ',"per":"' || budget_period || '"}'`, 'budget IS NOT NULL'),
  keep('limits', 'limits', `limits <> '{}'`),
  keep('models', 'models', 'models IS NOT NULL'),
  keep('ips', 'ips', 'ips IS NOT NULL'),
  keep('expiresAt', 'expires_at', 'expires_at IS NOT NULL'),
  keep(
    'status',
    `'"disabled"'`,
    `status = 'disabled' AND EXISTS (SELECT 1 FROM trail t WHERE t.subject = key.id AND t.action = 'key.change'
       AND t.became LIKE '%"status":"disabled"%' AND ${others})`,
  ),

  // The number of keys a user may create, and the highest settings of these keys.
  `ALTER TABLE "user" ADD COLUMN keys_max INTEGER CHECK (keys_max >= 0)`,
  `ALTER TABLE "user" ADD COLUMN key_bounds TEXT NOT NULL DEFAULT '{}'`,

  // Four roles. A check is dropped with its column, and the column's name stays for earlier versions.
  `ALTER TABLE "user" ADD COLUMN role_now TEXT NOT NULL DEFAULT 'user' CHECK (role_now IN ('user', 'viewer', 'billing', 'admin'))`,
  `UPDATE "user" SET role_now = role`,
  `ALTER TABLE "user" DROP COLUMN role`,
  `ALTER TABLE "user" RENAME COLUMN role_now TO role`,

  // Sign-in by other means than a password. Only the invited people have the tokens of invitations; the table has their
  // hashes.
  `CREATE TABLE invitation (
    hash TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT, role TEXT NOT NULL, group_name TEXT NOT NULL,
    made_by TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL) STRICT`,
  // The identity of a person at an issuer, and the state of the browser during the sign-in there.
  `CREATE TABLE sign_in_link (
    issuer TEXT NOT NULL, subject TEXT NOT NULL, user_name TEXT NOT NULL REFERENCES "user" (name),
    created_at INTEGER NOT NULL, PRIMARY KEY (issuer, subject)) STRICT, WITHOUT ROWID`,
  `CREATE INDEX sign_in_link_user ON sign_in_link (user_name)`,
  `CREATE TABLE sign_in_trip (hash TEXT PRIMARY KEY, told TEXT NOT NULL, expires_at INTEGER NOT NULL) STRICT`,
]
