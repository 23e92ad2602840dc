import { join } from 'node:path'
import t from 'tap'
import { createKey, openStorage } from '../../src/index.ts'
import { prepareThread, startThread } from '../../src/storage/sqlite/thread.ts'

t.test('a thread that was started in advance becomes the writer, and is used only once', async t => {
  const path = join(t.testdir(), 'ahead.db')
  const release = prepareThread()
  const storage = await openStorage({ url: `sqlite:${path}`, role: 'gateway' })
  await release()
  await storage.users.create({ name: 'ahead', group: 'default', role: 'user', passwordHash: null })
  const { key } = await createKey(storage, { name: 'ahead', user: 'ahead' })
  t.match(await storage.keys.find(key.id), { name: 'ahead' }, 'it writes after leftovers have been released')
  await storage.close()
  const again = await openStorage({ url: `sqlite:${path}`, role: 'gateway' })
  t.match(await again.keys.find(key.id), { name: 'ahead' }, 'the next one starts a new thread')
  await again.close()
})

t.test('an unused thread is ended, and cannot be taken afterwards', async t => {
  const release = prepareThread()
  await release()
  const next = startThread('writer-thread', undefined)
  t.ok(next.threadId > 0, 'the next one is another, which runs')
  await next.terminate()
})
