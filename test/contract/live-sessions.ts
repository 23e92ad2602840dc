import type { Test } from 'tap'
import type { OpenSession } from '../../src/domain/index.ts'
import { type Harness, newKey } from './storage.ts'

const sessionOf = (keyId: string, id: string, openedAt: number, more: Partial<OpenSession> = {}): OpenSession => ({
  id,
  keyId,
  operation: 'realtime',
  model: 'm',
  upstream: 'text',
  openedAt,
  ...more,
})

/** Tests of open sessions, for every driver. */
export async function liveSessionsContract(t: Test, make: Harness): Promise<void> {
  await t.test(
    "all processes' sessions are listed, and each process learns which of its own were ended by a person",
    async t => {
      const harness = await make()
      const [here, there] = [await harness.open('worker'), await harness.open('worker')]
      const tool = await harness.open('tool')
      const [one, two] = [await here.keys.create(newKey({})), await here.keys.create(newKey({}))]
      await here.liveSessions.opened(sessionOf(one.id, 'req_a', 1))
      await there.liveSessions.opened(sessionOf(two.id, 'req_b', 2, { model: null, upstream: null }))
      const listed = await tool.liveSessions.list({ limit: 9 })
      t.match(listed, [
        { id: 'req_b', keyId: two.id, user: 'local', model: null, upstream: null, endedAt: null },
        { id: 'req_a', keyId: one.id, keyName: one.name, operation: 'realtime', model: 'm', upstream: 'text' },
      ])
      t.not(listed[0]?.process, listed[1]?.process, 'which process has it')
      t.same(
        (await tool.liveSessions.list({ keyId: one.id, limit: 9 })).map(({ id }) => id),
        ['req_a'],
      )
      t.equal((await tool.liveSessions.list({ limit: 1 })).length, 1)

      t.equal(await tool.liveSessions.end('req_none', 'ann', null), false)
      t.equal(await tool.liveSessions.end('req_b', 'ann', 'a test'), true)
      t.equal(await tool.liveSessions.end('req_b', 'bob', 'again'), true)
      t.same([await here.liveSessions.ended(), await there.liveSessions.ended()], [[], ['req_b']])
      t.match(await tool.liveSessions.list({ limit: 1 }), [{ id: 'req_b', endedAt: Number }])
      const rows = await tool.trail.list({ action: 'live_session.end', limit: 9 })
      t.equal(rows.length, 1, 'the first one ended it')
      t.match(rows, [{ actor: 'ann', subject: 'req_b', before: { key: two.id }, after: null, reason: 'a test' }])

      await there.liveSessions.closed('req_b')
      t.same(await there.liveSessions.ended(), [])
      t.equal(await tool.liveSessions.end('req_b', 'ann', null), false)
      await here.close()
      await harness.edit('DELETE FROM replica')
      t.same(await tool.liveSessions.list({ limit: 9 }), [], 'an exited process has no sessions')
      for (const storage of [there, tool]) await storage.close()
      await harness.close()
    },
  )
}
