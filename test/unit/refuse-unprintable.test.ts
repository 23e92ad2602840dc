import t from 'tap'
import { print, say } from '../../src/cli/exit.ts'
import { formatTable } from '../../src/cli/table.ts'
import { safeLine } from '../../src/cli/safe-text.ts'
import { escapeUnprintable } from '../../src/util/unprintable.ts'
import { newKey } from '../contract/storage.ts'
import { openDatabase } from '../harness/database.ts'
import { caseName } from '../harness/case-name.ts'

/** Names with one kind of terminal control character each. */
const odd = [
  'two\nlines',
  'a\rb',
  '\u001b[31mred',
  '\u009b31m',
  'nul\0',
  'del\u007f',
  'turned\u202eback',
  'line\u2028end',
]

t.test('the storage accepts no name with control characters from any source', async t => {
  const storage = await openDatabase({ url: 'sqlite::memory:' })
  const { users, keys, signIn, views } = storage
  await users.create({ name: 'ann', group: 'default', role: 'user', passwordHash: null })
  const key = await keys.create(newKey({ user: 'ann' }))
  const user = { name: 'ben', group: 'default', role: 'user', passwordHash: null } as const
  const invitation = {
    hash: 'h',
    name: 'cleo',
    role: 'user',
    group: 'default',
    expiresAt: Date.now() + 60_000,
  } as const
  for (const name of odd) {
    const doors: { readonly [door: string]: () => unknown } = {
      'a new user': () => users.create({ ...user, name }),
      'the group of a new user': () => users.create({ ...user, group: name }),
      'the group of a user': () => users.change('ann', { group: name }, 'ops'),
      'a new key': () => keys.create(newKey({ user: 'ann', name })),
      'a key of their own': () => keys.createOwn(newKey({ user: 'ann', name }), 'ann', 100),
      'a key': () => keys.change(key.id, { name }, 'ops'),
      'the group of a key': () => keys.change(key.id, { group: name }, 'ops'),
      'an invitation': () => signIn.invite({ ...invitation, name }, 'ops'),
      'a saved view': () => views.put('ann', { page: '/console/logs', name, query: '' }),
    }
    for (const [door, enter] of Object.entries(doors))
      await t.rejects(
        async () => enter(),
        { code: 'name_unprintable', message: `the name ${escapeUnprintable(name)} has line breaks` },
        caseName({ door, name: escapeUnprintable(name) }),
      )
  }
  t.match(await users.list(), [{ name: 'ann' }, { name: 'local' }])
  t.equal((await keys.list({ limit: 1_000 })).length, 1)
  await storage.close()
})

t.test('names from an older database cannot control a terminal', t => {
  for (const name of odd) {
    t.equal(safeLine(name), escapeUnprintable(name), caseName({ name: escapeUnprintable(name) }))
    t.equal(
      formatTable(['name', 'of'], [[name, 'x']]).split('\n').length,
      2,
      caseName({ name: escapeUnprintable(name) }),
    )
  }
  const written: string[] = []
  const [out, errors] = [process.stdout, process.stderr]
  const before = { out: out.write.bind(out), errors: errors.write.bind(errors), isTTY: out.isTTY }
  const write = (text: string | Uint8Array): boolean => written.push(String(text)) > 0
  try {
    Object.assign(out, { write, isTTY: true })
    Object.assign(errors, { write })
    print('of \u001b[31m\n\tand more')
    say('of \u001b[31m')
    Object.assign(out, { isTTY: false })
    print('of \u001b[31m')
  } finally {
    Object.assign(out, { write: before.out, isTTY: before.isTTY })
    Object.assign(errors, { write: before.errors })
  }
  t.same(
    written,
    ['of \\u001b[31m\n\tand more\n', 'of \\u001b[31m\n', 'of \u001b[31m\n'],
    'what a program reads is as it is',
  )
  t.end()
})
