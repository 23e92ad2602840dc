import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { importBook } from '../../src/index.ts'
import { type DumpWay, dumpOf, madeNewApi, nasty, sqlOf } from '../harness/new-api.ts'
import { pgDumpOf } from '../harness/litellm-book.ts'
import { startPostgres } from '../harness/postgres.ts'
import { caseName } from '../harness/case-name.ts'

const folder = await mkdtemp(join(tmpdir(), 'tollgate-import-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const made = madeNewApi('https://vendor.example.com')
const source = join(folder, 'one-api.db')
const db = new DatabaseSync(source)
for (const statement of sqlOf(made, 'sqlite')) db.exec(statement)
db.close()
const options = { secretsAt: './secrets' }
const fromSqlite = await importBook(source, 'new-api', options)

async function ofDump(text: string | Uint8Array, isEndless = false) {
  const file = join(folder, 'dump.sql')
  await writeFile(file, text)
  return importBook(file, 'new-api', { ...options, isEndless })
}

const ways: { readonly [name: string]: DumpWay } = {
  'as it comes': {},
  'one statement for each row': { isExtended: false },
  'columns by name': { isComplete: true },
  'texts in hexadecimal digits': { isHex: true },
  'backslashes that escape nothing': { isPlain: true },
  'MariaDB with its sandbox': { isMaria: true },
  'no comments': { comments: false },
}

t.test('a dump gives the same as the SQLite file, however it was made', async t => {
  t.ok(
    fromSqlite.adoption.users.some(user => user.name === nasty.replaceAll(/\p{Cc}/gu, '').trim()),
    'names that are hard to read are among it',
  )
  for (const [name, way] of Object.entries(ways)) {
    const imported = await ofDump(dumpOf(made, way))
    t.same(imported.adoption, fromSqlite.adoption, name)
    t.equal(imported.text, fromSqlite.text, name)
    t.same(imported.secrets, fromSqlite.secrets, name)
  }
  const windows = await ofDump(dumpOf(made, { isHex: true }).replaceAll('\n', '\r\n'))
  t.same(windows.adoption, fromSqlite.adoption, 'lines as Windows ends them')
})

t.test('a truncated dump is refused whole, wherever it was cut', async t => {
  for (const way of [{}, { comments: false }] as const) {
    const bytes = Buffer.from(dumpOf(made, way))
    // White space or a date follows the last mark.
    const mark = way === undefined || !('comments' in way) ? '-- Dump completed' : 'SQL_NOTES=@OLD_SQL_NOTES */;'
    const whole = bytes.lastIndexOf(mark) + mark.length
    const places = [...Array(whole).keys()].filter(at => at % 97 === 0 || at > whole - 120)
    let taken = 0
    for (const at of places)
      await ofDump(bytes.subarray(0, at)).then(
        () => taken++,
        () => undefined,
      )
    t.equal(taken, 0, `of ${places.length} places`)
    await ofDump(bytes.subarray(0, whole))
  }
})

t.test('a dump without an end mark is accepted only with --without-end', async t => {
  const text = dumpOf(made, { isCompact: true })
  await t.rejects(ofDump(text), /no end marker.*--without-end/)
  t.same((await ofDump(text, true)).adoption, fromSqlite.adoption)
  await t.rejects(ofDump(text.slice(0, -9), true), /is incomplete/)
  const index = 'ALTER TABLE `users`\n  ADD PRIMARY KEY (`id`),\n  ADD UNIQUE KEY `username` (`username`);\nCOMMIT;\n'
  const others = {
    phpMyAdmin: `-- phpMyAdmin SQL Dump\n-- version 5.2.1\nSTART TRANSACTION;\n${text}${index}`,
    Navicat: `/*\n Navicat Premium Data Transfer\n*/\nSET FOREIGN_KEY_CHECKS = 0;\n${text}SET FOREIGN_KEY_CHECKS = 1;\n`,
  }
  for (const [name, dump] of Object.entries(others)) {
    await t.rejects(ofDump(dump), /no end marker.*--without-end/, name)
    t.same((await ofDump(dump, true)).adoption, fromSqlite.adoption, name)
  }
})

t.test('unreadable content is refused with its line, and nothing is guessed', async t => {
  const whole = dumpOf(made)
  const with_ = (text: string) => whole.replace('DELIMITER ;;', () => `${text}\nDELIMITER ;;`)
  const cases: readonly (readonly [text: string | Uint8Array, why: RegExp])[] = [
    [with_('INSERT INTO `tokens` VALUES (1,2);'), /line \d+ .*a row has 2 values for 16 columns/],
    [with_('INSERT INTO `tokens` SELECT 1;'), /VALUES is missing/],
    [with_('UPDATE users SET quota = 5;'), /UPDATE is not a statement of a dump/],
    [with_("INSERT INTO `options` VALUES (concat('a'),'b');"), /not text, a number or NULL/],
    [with_('ALTER TABLE `users` ADD COLUMN `more` int;'), /changes the columns of users/],
    [whole.replace('SET NAMES utf8mb4', 'SET NAMES gbk'), /its encoding is gbk/],
    [`${whole}\n${dumpOf(made)}`.replaceAll(/DROP TABLE[^;]*;/g, ''), /a second table channels/],
    [Buffer.concat([Buffer.from('-- '), Buffer.from([0xff, 0xfe]), Buffer.from(`\n${whole}`)]), /not UTF-8/],
    [dumpOf(made.filter(table => table.name !== 'tokens')), /one of the tables .* is missing/],
    [
      `PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n${whole}COMMIT;\n`,
      /line 1 .*it is a dump of SQLite: import the database/,
    ],
    [`BEGIN TRANSACTION;\n${whole}COMMIT;\n`, /it is a dump of SQLite/],
    ['{"no": "dump"}', /has no channels, options or ratios/],
  ]
  for (const [text, why] of cases) await t.rejects(ofDump(text), why, caseName({ text, why }))
})

t.test('texts keep every character, however they are escaped', async t => {
  const cases: readonly (readonly [sql: string, name: string])[] = [
    [`'a\\'b' 'c'`, "a'bc"],
    [`"say ""hi"" \\"x\\""`, 'say "hi" "x"'],
    [`_utf8mb4'é'`, 'é'],
    [`_binary 0x414243`, 'ABC'],
    [`x'4142'`, 'AB'],
    [`N'n'`, 'n'],
    [`'\\q/*!\\%'`, 'q/*!\\%'],
  ]
  for (const [sql, name] of cases) {
    const text = dumpOf(made).replace("'alice'", () => sql)
    const { adoption } = await ofDump(text)
    t.ok(
      adoption.users.some(user => user.name === name),
      sql,
    )
  }
})

t.test('a dump of PostgreSQL gives the same', async t => {
  const text = pgDumpOf(
    made.map(({ name, columns, rows }) => ({
      name,
      columns,
      rows: rows.map(row =>
        row.map((value, i) =>
          columns[i]?.[1] === 'bool' ? (value === 1 ? 't' : 'f') : value === null ? null : `${value}`,
        ),
      ),
    })),
  )
  const imported = await ofDump(text)
  t.same(imported.adoption, fromSqlite.adoption)
  t.equal(imported.text, fromSqlite.text)
  t.same((await ofDump(`\uFEFF${text.replaceAll('\n', '\r\n')}`)).adoption, fromSqlite.adoption, 'of Windows')
  await t.rejects(ofDump(text.slice(0, -60)), /database dump complete' is missing/)
  await t.rejects(ofDump('PGDMP\u0001'), /custom format: create it with --format=plain/)
})

t.test('a PostgreSQL gives the same, in a read-only transaction', async t => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.close())
  const url = await postgres.createDatabase()
  const client = await postgres.connect(url)
  for (const statement of sqlOf(made, 'postgres')) await client.query(statement)
  const imported = await importBook(url, 'new-api', options)
  t.same(imported.adoption, fromSqlite.adoption)
  t.same(imported.sums, fromSqlite.sums)
  t.equal(imported.text, fromSqlite.text)
  await client.query('DROP TABLE channels')
  await t.rejects(importBook(url, 'new-api', options), /one of the tables .* is missing/)
  await client.end()
})
