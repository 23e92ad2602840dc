import { Worker } from 'node:worker_threads'
import { once } from 'node:events'
import t from 'tap'

const module = new URL('../../src/storage/postgres/translate.ts', import.meta.url).href

/** The names of statements that a new thread prepares in this order. */
async function namesOf(...statements: readonly string[]): Promise<readonly string[]> {
  const code = `import { parentPort, workerData } from 'node:worker_threads'
    const { prepare } = await import(workerData.module)
    parentPort.postMessage(workerData.statements.map(sql => prepare(sql).name))`
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), {
    workerData: { module, statements },
  })
  const [names] = (await once(worker, 'message')) as [readonly string[]]
  return names
}

t.test('two processes behind one pooler never use one name for two statements', async t => {
  const [read, write] = ['SELECT value FROM meta WHERE name = ?', 'UPDATE meta SET value = ? WHERE name = ?']
  const [one, other] = await Promise.all([namesOf(read, write), namesOf(write, read)])
  t.same(one, other.toReversed(), 'the name follows from the text, not from what came before')
  t.not(one[0], one[1])
})
