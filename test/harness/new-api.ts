/** A value of a row of another gateway. */
export type Value = string | number | bigint | null

/** A table with the names and types of new-api's migrations (its GORM models), and with invented rows. */
export type MadeTable = {
  readonly name: string
  readonly columns: readonly (readonly [name: string, type: 'int' | 'text' | 'char48' | 'bool'])[]
  readonly rows: readonly (readonly Value[])[]
}

export const oldKey = (letter: string): string => letter.repeat(48)
/** A text that a reader could misinterpret: quotes, line breaks, a reference to a file, an escaping byte. */
export const nasty = 'o\'Brien "x" \\ ; -- /* ${file:/etc/hostname} \n\t 用户 \u001a'

/** A new-api with channels at `url`, users with balances, and tokens of every kind. */
export function madeNewApi(url: string): readonly MadeTable[] {
  const ratios = {
    ModelRatio: { 'gpt-4o': 1.25, 'gpt-4o-mini': 0.075, 'claude-x': 1.5, 'vec-1': 0.01, 'model-$': 1 },
    CompletionRatio: { 'gpt-4o': 4, 'gpt-4o-mini': 4, 'claude-x': 5, 'model-$': 2 },
    CacheRatio: { 'gpt-4o': 0.5 },
    ModelPrice: { 'draw-1': 0.04 },
    GroupRatio: { default: 1, vip: 0.8, 'svip:$x': 1.5 },
  }
  const channel = (id: number, more: { readonly [column: string]: Value }): readonly Value[] =>
    channelColumns.map(([name]) => more[name] ?? (name === 'id' ? id : (channelDefaults[name] ?? null)))
  const token = (id: number, more: { readonly [column: string]: Value }): readonly Value[] =>
    tokenColumns.map(([name]) => more[name] ?? (name === 'id' ? id : (tokenDefaults[name] ?? null)))
  const user = (
    id: number,
    username: string,
    quota: number | bigint,
    more: { readonly [column: string]: Value } = {},
  ): readonly Value[] => {
    const row: { readonly [column: string]: Value } = { ...userDefaults, ...more, id, username, quota }
    return userColumns.map(([name]) => row[name] ?? null)
  }
  return [
    {
      name: 'channels',
      columns: channelColumns,
      rows: [
        channel(1, {
          name: nasty,
          key: 'made-up-vendor-key-1',
          base_url: url,
          models: 'gpt-4o,gpt-4o-mini,vec-1',
          priority: 10,
          weight: 5,
          model_mapping: '{"gpt-4o":"sent-4o"}',
        }),
        channel(2, {
          name: 'spare',
          key: 'made-up-vendor-key-2\nmade-up-vendor-key-3',
          base_url: url,
          models: 'gpt-4o',
          group: 'default,vip',
          channel_info: '{"is_multi_key":true,"multi_key_status_list":{"1":3}}',
        }),
        channel(3, {
          type: 14,
          name: 'claude',
          key: 'made-up-vendor-key-4',
          base_url: url,
          models: 'claude-x',
          group: 'vip',
          param_override: '{"a":1}',
        }),
        channel(4, {
          name: 'by hand',
          status: 2,
          key: 'made-up-vendor-key-5',
          base_url: url,
          models: 'gpt-4o,only-here',
        }),
        channel(5, { type: 33, name: 'signed', key: 'id|secret|region', models: 'claude-x' }),
        channel(6, {
          name: 'dollar',
          key: 'made-up-${file:/etc/hostname}',
          base_url: url,
          models: 'model-$,draw-1,bad${X}',
          group: 'svip:$x',
        }),
      ],
    },
    {
      name: 'abilities',
      columns: [
        ['group', 'text'],
        ['model', 'text'],
        ['channel_id', 'int'],
        ['enabled', 'bool'],
        ['priority', 'int'],
        ['weight', 'int'],
      ],
      rows: [
        ['default', 'gpt-4o', 1, 1, 10, 5],
        ['default', 'vec-1', 1, 0, 10, 5],
        ['default', 'gpt-4o', 4, 0, 0, 0],
      ],
    },
    {
      name: 'users',
      columns: userColumns,
      rows: [
        user(1, 'root', 100_000_000, { role: 100 }),
        user(2, 'alice', 617_284, { group: 'vip', email: 'alice@example.com', password: '$2a$10$made-up' }),
        user(3, nasty.replaceAll(/\p{Cc}/gu, ''), 1),
        user(4, 'debtor', -500),
        user(5, 'gone', 999_999, { deleted_at: '2025-01-01 00:00:00' }),
        user(6, 'blocked', 250_000, { status: 2 }),
        user(7, 'rich', 1_000_000_000_000n),
      ],
    },
    {
      name: 'tokens',
      columns: tokenColumns,
      rows: [
        token(1, { user_id: 1, key: oldKey('a'), name: 'main' }),
        token(2, {
          user_id: 2,
          key: oldKey('b'),
          name: 'bounded',
          unlimited_quota: 0,
          remain_quota: 617_283,
          used_quota: 5,
        }),
        token(3, {
          user_id: 2,
          key: oldKey('c'),
          name: 'of one model',
          model_limits_enabled: 1,
          model_limits: 'gpt-4o,claude-x,unknown',
        }),
        token(4, { user_id: 1, key: oldKey('d'), name: 'of nothing', model_limits_enabled: 1, model_limits: '' }),
        token(5, { user_id: 1, key: oldKey('e'), name: 'off', status: 2 }),
        token(6, { user_id: 1, key: oldKey('f'), name: 'over', expired_time: 1_700_000_000 }),
        token(7, { user_id: 1, key: oldKey('g'), name: 'of an address', allow_ips: '127.0.0.1\n10.0.0.0/8' }),
        token(8, { user_id: 1, key: oldKey('h'), name: 'of none', allow_ips: 'nowhere' }),
        token(9, { user_id: 5, key: oldKey('i'), name: 'of nobody' }),
        token(10, { user_id: 1, key: oldKey('j'), name: 'deleted', deleted_at: '2025-01-01 00:00:00' }),
        token(11, { user_id: 1, key: oldKey('k'), name: nasty, group: 'vip' }),
        token(12, { user_id: 1, key: oldKey('l'), name: 'spent', unlimited_quota: 0, remain_quota: -7 }),
        token(13, { user_id: 6, key: oldKey('m'), name: 'of one who is blocked' }),
        token(14, { user_id: 4, key: oldKey('n'), name: 'of a debtor' }),
      ],
    },
    {
      name: 'options',
      columns: [
        ['key', 'text'],
        ['value', 'text'],
      ],
      rows: [
        ...Object.entries(ratios).map(([key, value]) => [key, JSON.stringify(value)] as const),
        ['QuotaPerUnit', '500000'],
        ['SMTPToken', 'made-up-mail-secret'],
        ['RetryTimes', '3'],
      ],
    },
    {
      name: 'redemptions',
      columns: [
        ['id', 'int'],
        ['key', 'text'],
        ['status', 'int'],
        ['quota', 'int'],
      ],
      rows: [
        [1, 'made-up-code', 1, 500_000],
        [2, 'made-up-code-2', 3, 500_000],
      ],
    },
    {
      name: 'logs',
      columns: [
        ['id', 'int'],
        ['content', 'text'],
      ],
      rows: [
        [1, nasty],
        [2, 'x'],
      ],
    },
  ]
}

const channelColumns = [
  ['id', 'int'],
  ['type', 'int'],
  ['key', 'text'],
  ['openai_organization', 'text'],
  ['test_model', 'text'],
  ['status', 'int'],
  ['name', 'text'],
  ['weight', 'int'],
  ['created_time', 'int'],
  ['base_url', 'text'],
  ['models', 'text'],
  ['group', 'text'],
  ['used_quota', 'int'],
  ['model_mapping', 'text'],
  ['status_code_mapping', 'text'],
  ['priority', 'int'],
  ['auto_ban', 'int'],
  ['tag', 'text'],
  ['setting', 'text'],
  ['param_override', 'text'],
  ['header_override', 'text'],
  ['channel_info', 'text'],
] as const
const channelDefaults: { readonly [column: string]: Value } = {
  type: 1,
  status: 1,
  group: 'default',
  weight: 0,
  priority: 0,
  auto_ban: 1,
}

const userColumns = [
  ['id', 'int'],
  ['username', 'text'],
  ['password', 'text'],
  ['display_name', 'text'],
  ['role', 'int'],
  ['status', 'int'],
  ['email', 'text'],
  ['quota', 'int'],
  ['used_quota', 'int'],
  ['group', 'text'],
  ['aff_code', 'text'],
  ['setting', 'text'],
  ['deleted_at', 'text'],
] as const
const userDefaults: { readonly [column: string]: Value } = { role: 1, status: 1, group: 'default', used_quota: 0 }

const tokenColumns = [
  ['id', 'int'],
  ['user_id', 'int'],
  ['key', 'char48'],
  ['status', 'int'],
  ['name', 'text'],
  ['created_time', 'int'],
  ['accessed_time', 'int'],
  ['expired_time', 'int'],
  ['remain_quota', 'int'],
  ['unlimited_quota', 'bool'],
  ['model_limits_enabled', 'bool'],
  ['model_limits', 'text'],
  ['allow_ips', 'text'],
  ['used_quota', 'int'],
  ['group', 'text'],
  ['deleted_at', 'text'],
] as const
const tokenDefaults: { readonly [column: string]: Value } = {
  status: 1,
  expired_time: -1,
  remain_quota: 0,
  unlimited_quota: 1,
  model_limits_enabled: 0,
  model_limits: '',
  allow_ips: '',
  group: '',
}

type Engine = 'sqlite' | 'postgres' | 'mysql'
const types = {
  sqlite: { int: 'integer', text: 'text', char48: 'char(48)', bool: 'numeric' },
  postgres: { int: 'bigint', text: 'text', char48: 'char(128)', bool: 'boolean' },
  mysql: { int: 'bigint', text: 'longtext', char48: 'varchar(128)', bool: 'tinyint(1)' },
} as const

/** The statements that create and fill the tables. */
export function sqlOf(tables: readonly MadeTable[], engine: Engine): readonly string[] {
  const name = (text: string): string => (engine === 'mysql' ? `\`${text}\`` : `"${text}"`)
  return tables.flatMap(table => [
    `CREATE TABLE ${name(table.name)} (\n${table.columns.map(([column, type]) => `  ${name(column)} ${types[engine][type]}`).join(',\n')}\n)`,
    ...table.rows.map(
      row =>
        `INSERT INTO ${name(table.name)} VALUES (${row.map((value, i) => literal(value, engine, table.columns[i]?.[1] === 'bool')).join(',')})`,
    ),
  ])
}

function literal(value: Value, engine: Engine, isBool: boolean): string {
  if (value === null) return 'NULL'
  if (isBool && engine === 'postgres') return value === 1 ? 'true' : 'false'
  if (typeof value !== 'string') return String(value)
  const doubled = value.replaceAll("'", "''")
  return `'${engine === 'mysql' ? doubled.replaceAll('\\', '\\\\').replaceAll('\n', String.raw`\n`).replaceAll('\u001a', String.raw`\Z`) : doubled}'`
}

/** The options of a dump, from those of mysqldump and mariadb-dump. */
export type DumpWay = {
  readonly isExtended?: boolean
  readonly isComplete?: boolean
  readonly isHex?: boolean
  readonly isPlain?: boolean
  readonly isMaria?: boolean
  readonly comments?: boolean
  readonly isCompact?: boolean
}

/** The output of mysqldump (or mariadb-dump) for the same tables. */
export function dumpOf(tables: readonly MadeTable[], way: DumpWay = {}): string {
  const { isExtended = true, isComplete = false, isMaria = false, comments = true, isCompact = false } = way
  const comment = (text: string): string[] => (comments && !isCompact ? ['--', `-- ${text}`, '--', ''] : [])
  const set = (...lines: readonly string[]): readonly string[] => (isCompact ? [] : lines)
  const parts = tables.flatMap(table => {
    const columns = table.columns.map(
      ([name, type]) =>
        `  \`${name}\` ${types.mysql[type]} ${name === 'id' ? 'NOT NULL AUTO_INCREMENT' : "DEFAULT NULL COMMENT 'a, (b) '' c'"}`,
    )
    const named = isComplete ? ` (${table.columns.map(([name]) => `\`${name}\``).join(', ')})` : ''
    const rows = table.rows.map(row => `(${row.map(value => dumpValue(value, way)).join(',')})`)
    const inserts = isExtended ? [rows.join(',')] : rows
    return [
      ...comment(`Table structure for table \`${table.name}\``),
      ...set(
        `DROP TABLE IF EXISTS \`${table.name}\`;`,
        '/*!40101 SET @saved_cs_client     = @@character_set_client */;',
        '/*!50503 SET character_set_client = utf8mb4 */;',
      ),
      `CREATE TABLE \`${table.name}\` (\n${[...columns, '  KEY `idx_some` (`' + String(table.columns[0]?.[0]) + '`(10)) USING BTREE'].join(',\n')}\n) ENGINE=InnoDB AUTO_INCREMENT=9 DEFAULT CHARSET=utf8mb4 COMMENT='of ; all';`,
      ...set(
        '/*!40101 SET character_set_client = @saved_cs_client */;',
        `LOCK TABLES \`${table.name}\` WRITE;`,
        `/*!40000 ALTER TABLE \`${table.name}\` DISABLE KEYS */;`,
      ),
      ...comment(`Dumping data for table \`${table.name}\``),
      ...inserts.map(values => `INSERT INTO \`${table.name}\`${named} VALUES ${values};`),
      ...set(`/*!40000 ALTER TABLE \`${table.name}\` ENABLE KEYS */;`, 'UNLOCK TABLES;'),
    ]
  })
  const head = [
    ...(isMaria ? ['/*M!999999\\- enable the sandbox mode */ '] : []),
    ...(comments && !isCompact
      ? [
          `-- ${isMaria ? 'MariaDB' : 'MySQL'} dump 10.19  Distrib 8.0, for Linux (x86_64)`,
          '--',
          "-- Host: localhost    Database: it's",
          '',
        ]
      : []),
    ...set(
      '/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;',
      '/*!50503 SET NAMES utf8mb4 */;',
      `/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='${way.isPlain ? 'NO_BACKSLASH_ESCAPES,' : ''}NO_AUTO_VALUE_ON_ZERO' */;`,
      '/*!40111 SET @OLD_SQL_NOTES=@@SQL_NOTES, SQL_NOTES=0 */;',
      '',
    ),
  ]
  const trigger = isCompact
    ? []
    : [
        'DELIMITER ;;',
        '/*!50003 CREATE*/ /*!50017 DEFINER=`r`@`l`*/ /*!50003 TRIGGER t BEFORE INSERT ON users FOR EACH ROW BEGIN',
        "  SET NEW.quota = 0; UPDATE users SET quota = 1; -- it's ;",
        'END */;;',
        'DELIMITER ;',
      ]
  const tail = [
    ...set('/*!40101 SET SQL_MODE=@OLD_SQL_MODE */;', '/*!40111 SET SQL_NOTES=@OLD_SQL_NOTES */;', ''),
    ...(comments && !isCompact ? ['-- Dump completed on 2026-11-01 12:00:00', ''] : []),
  ]
  return [...head, ...parts, ...trigger, ...tail].join('\n')
}

function dumpValue(value: Value, { isHex = false, isPlain = false }: DumpWay): string {
  if (value === null) return 'NULL'
  if (typeof value !== 'string') return String(value)
  if (isHex && value !== '') return `0x${Buffer.from(value).toString('hex').toUpperCase()}`
  return isPlain
    ? `'${value.replaceAll("'", "''")}'`
    : literal(value, 'mysql', false).replaceAll("''", String.raw`\'`).replace(/^\\'$/, "''")
}
