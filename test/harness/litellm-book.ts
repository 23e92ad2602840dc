import { createHash } from 'node:crypto'

/** A value in PostgreSQL's text format; null for none. */
type Value = string | null

/** A table with the names and types of LiteLLM's migrations (its schema.prisma), and with invented rows. */
export type PostgresTable = {
  readonly name: string
  readonly columns: readonly (readonly [name: string, type: string])[]
  readonly rows: readonly (readonly Value[])[]
}

export const litellmKey = (word: string): string => `sk-made-up-key-of-${word}`
export const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')
/** A text that a reader could misinterpret, with special characters of several syntaxes. */
export const nasty = 'o\'Brien "x" \\ ; -- ${file:/etc/hostname} {a,b} 用户 \\.'

const bounds = [
  ['tpm_limit', 'bigint'],
  ['rpm_limit', 'bigint'],
  ['max_parallel_requests', 'integer'],
  ['max_budget', 'double precision'],
  ['budget_duration', 'text'],
  ['budget_reset_at', 'timestamp(3) without time zone'],
] as const

const tokenColumns = [
  ['token', 'text'],
  ['key_name', 'text'],
  ['key_alias', 'text'],
  ['soft_budget_cooldown', 'boolean'],
  ['spend', 'double precision'],
  ['expires', 'timestamp(3) without time zone'],
  ['models', 'text[]'],
  ['aliases', 'jsonb'],
  ['config', 'jsonb'],
  ['user_id', 'text'],
  ['team_id', 'text'],
  ['permissions', 'jsonb'],
  ['metadata', 'jsonb'],
  ['blocked', 'boolean'],
  ...bounds,
  ['allowed_routes', 'text[]'],
  ['model_max_budget', 'jsonb'],
  ['budget_id', 'text'],
  ['organization_id', 'text'],
] as const
const teamColumns = [
  ['team_id', 'text'],
  ['team_alias', 'text'],
  ['organization_id', 'text'],
  ['admins', 'text[]'],
  ['members', 'text[]'],
  ['metadata', 'jsonb'],
  ['spend', 'double precision'],
  ['models', 'text[]'],
  ...bounds,
  ['blocked', 'boolean'],
] as const
const userColumns = [
  ['user_id', 'text'],
  ['user_alias', 'text'],
  ['teams', 'text[]'],
  ['user_role', 'text'],
  ['spend', 'double precision'],
  ['user_email', 'text'],
  ['models', 'text[]'],
  ['metadata', 'jsonb'],
  ...bounds,
] as const
const budgetColumns = [
  ['budget_id', 'text'],
  ['soft_budget', 'double precision'],
  ...bounds,
  ['created_by', 'text'],
] as const

type Row = { readonly [column: string]: Value }

/** Teams, users and keys of every kind; `more` adds keys. */
export function madeLitellm(more: readonly Row[] = []): readonly PostgresTable[] {
  const key = (word: string, own: Row): Row => ({
    token: hashOf(litellmKey(word)),
    key_name: `sk-...${word.slice(-4)}`,
    key_alias: word,
    soft_budget_cooldown: 'f',
    spend: '0',
    models: '{}',
    aliases: '{}',
    config: '{}',
    permissions: '{}',
    metadata: '{}',
    allowed_routes: '{}',
    model_max_budget: '{}',
    ...own,
  })
  return [
    tableOf('LiteLLM_BudgetTable', budgetColumns, [
      {
        budget_id: 'b-1',
        max_budget: '5',
        budget_duration: '1d',
        budget_reset_at: '2020-01-01 00:00:00',
        rpm_limit: '7',
        created_by: 'x',
      },
    ]),
    tableOf('LiteLLM_TeamTable', teamColumns, [
      {
        team_id: 't-1',
        team_alias: 'design',
        max_budget: '100',
        budget_duration: '30d',
        spend: '12.5',
        models: '{gpt-4o}',
        rpm_limit: '60',
        tpm_limit: '100000',
        blocked: 'f',
      },
      {
        team_id: 't-2',
        team_alias: 'design',
        max_budget: '10.000001',
        spend: '2.3000000000000003',
        models: '{all-proxy-models}',
        blocked: 'f',
      },
      { team_id: 't-3', team_alias: nasty.replace('${', '{'), models: '{}', blocked: 't' },
      { team_id: 't-4', team_alias: '${file:/etc/hostname}', max_budget: 'NaN', models: '{}', blocked: 'f' },
    ]),
    tableOf('LiteLLM_UserTable', userColumns, [
      { user_id: 'default_user_id', user_role: 'proxy_admin', spend: '0', models: '{}', teams: '{}' },
      {
        user_id: 'u-1',
        user_email: 'ada@example.com',
        spend: '1e-07',
        max_budget: '20',
        teams: '{t-1}',
        models: '{}',
        metadata: '{"a": 1}',
      },
      {
        user_id: 'u-2',
        user_email: 'same@example.com',
        spend: '3',
        max_budget: '50',
        budget_duration: '7d',
        teams: '{t-1,t-2}',
        models: '{gpt-4o-mini}',
      },
      { user_id: 'u-3', user_email: 'same@example.com', spend: '0', max_budget: '-1', models: '{}', teams: '{}' },
    ]),
    tableOf('LiteLLM_VerificationToken', tokenColumns, [
      key('main', { user_id: 'u-1', team_id: 't-1' }),
      key('bounded', {
        user_id: 'u-1',
        spend: '0.30000000000000004',
        max_budget: '1.3',
        rpm_limit: '30',
        tpm_limit: '90000',
        max_parallel_requests: '3',
      }),
      key('monthly', {
        user_id: 'u-2',
        max_budget: '9',
        budget_duration: '1mo',
        budget_reset_at: '2099-02-01 00:00:00',
        spend: '4',
      }),
      key('weekly', {
        user_id: 'u-2',
        team_id: 't-2',
        max_budget: '9',
        budget_duration: '7d',
        models: '{"gpt-4o*",gone-model}',
      }),
      key('yearly', { user_id: 'u-1', max_budget: '90', budget_duration: '365d', spend: '80' }),
      key('shared', { user_id: 'u-1', budget_id: 'b-1', spend: '2' }),
      key('of-team', { team_id: 't-2', metadata: '{"tags": ["x"]}' }),
      key('of-nobody', { expires: '2031-01-02 03:04:05.678' }),
      key('over', { user_id: 'u-1', expires: '2020-01-01 00:00:00' }),
      key('blocked', { user_id: 'u-1', blocked: 't' }),
      key('team-blocked', { user_id: 'u-1', team_id: 't-3' }),
      key('team-broken', { team_id: 't-4' }),
      key('spent', { user_id: 'u-1', max_budget: '1', spend: '7' }),
      key('nan', { user_id: 'u-1', max_budget: 'NaN' }),
      key('zero', { user_id: 'u-1', rpm_limit: '0' }),
      key('of-managers', { user_id: 'u-1', allowed_routes: '{management_routes}' }),
      key('no-model', { user_id: 'u-1', models: '{gone-model}' }),
      key('no-team', { user_id: 'u-1', team_id: 't-9' }),
      key('plain', { token: litellmKey('plain'), user_id: 'u-1' }),
      key('no-hash', { token: 'xyz', user_id: 'u-1' }),
      key('named', { user_id: 'u-1', key_alias: `${nasty}\n\t` }),
      ...more.map(row => key(row['key_alias'] ?? 'more', row)),
    ]),
    tableOf('LiteLLM_SpendLogs', [['request_id', 'text']], [{ request_id: 'a\tb' }, { request_id: 'c' }]),
    tableOf('LiteLLM_ProxyModelTable', [['model_id', 'text']], []),
  ]
}

function tableOf(name: string, columns: PostgresTable['columns'], rows: readonly Row[]): PostgresTable {
  return { name, columns, rows: rows.map(row => columns.map(([column]) => row[column] ?? null)) }
}

/** The statements that create and fill the tables. */
export function statementsOf(tables: readonly PostgresTable[]): readonly string[] {
  const literal = (value: Value): string => (value === null ? 'NULL' : `'${value.replaceAll("'", "''")}'`)
  return tables.flatMap(({ name, columns, rows }) => [
    `CREATE TABLE "${name}" (${columns.map(([column, type]) => `"${column}" ${type}`).join(', ')})`,
    ...rows.map(row => `INSERT INTO "${name}" VALUES (${row.map(literal).join(', ')})`),
  ])
}

/** The output of pg_dump in plain text for the same tables. */
export function pgDumpOf(tables: readonly PostgresTable[]): string {
  const cell = (value: Value): string =>
    value === null
      ? String.raw`\N`
      : value
          .replaceAll('\\', '\\\\')
          .replaceAll('\t', String.raw`\t`)
          .replaceAll('\n', String.raw`\n`)
          .replaceAll('\r', String.raw`\r`)
  const made = tables.flatMap(({ name, columns }) => [
    '--',
    `-- Name: ${name}; Type: TABLE; Schema: public; Owner: llmproxy`,
    '--',
    '',
    `CREATE TABLE public."${name}" (`,
    columns.map(([column, type]) => `    ${column} ${type}`).join(',\n'),
    ');',
    '',
  ])
  const filled = tables.flatMap(({ name, columns, rows }) => [
    '--',
    `-- Data for Name: ${name}; Type: TABLE DATA; Schema: public; Owner: llmproxy`,
    '--',
    '',
    `COPY public."${name}" (${columns.map(([column]) => column).join(', ')}) FROM stdin;`,
    ...rows.map(row => row.map(cell).join('\t')),
    String.raw`\.`,
    '',
    '',
  ])
  return [
    '--',
    '-- PostgreSQL database dump',
    '--',
    '',
    String.raw`\restrict Zc4MTNabcdef`,
    '',
    '-- Dumped from database version 16.4',
    '-- Dumped by pg_dump version 17.6',
    '',
    'SET statement_timeout = 0;',
    "SET client_encoding = 'UTF8';",
    'SET standard_conforming_strings = on;',
    "SELECT pg_catalog.set_config('search_path', '', false);",
    '',
    ...made,
    ...filled,
    '--',
    '-- PostgreSQL database dump complete',
    '--',
    '',
    String.raw`\unrestrict Zc4MTNabcdef`,
    '',
  ].join('\n')
}
