import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { replaceFiles, WriteError } from '../../src/gateway/write-files.ts'

async function makeFile(t: Test): Promise<{ readonly folder: string; readonly path: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-write-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'gateway.yaml')
  await writeFile(path, 'before')
  return { folder, path }
}

t.test('of two writers at once, one succeeds and the other learns that nothing was written', async t => {
  for (let i = 0; i < 20; i++) {
    const { folder, path } = await makeFile(t)
    const texts = ['one', 'two']
    const results = await Promise.allSettled(texts.map(after => replaceFiles([{ path, before: 'before', after }])))
    const written = texts.filter((_, n) => results[n]?.status === 'fulfilled')
    t.equal(written.length, 1, `attempt ${i}: one succeeds`)
    t.equal(await readFile(path, 'utf8'), written[0], `attempt ${i}: its text is in the file`)
    const [failed] = results.flatMap(one => (one.status === 'rejected' ? [one.reason as WriteError] : []))
    t.match([failed instanceof WriteError, failed?.kind], [true, 'changed'], `attempt ${i}: the other is refused`)
    t.same((await readdir(folder)).toSorted(), ['.gateway.yaml.previous', 'gateway.yaml'], `attempt ${i}: no leftover`)
  }
})

t.test('a file that a killed writer left does not prevent later writes', async t => {
  const { folder, path } = await makeFile(t)
  const left = join(folder, '.gateway.yaml.new')
  await writeFile(left, 'half')
  await t.rejects(replaceFiles([{ path, before: 'before', after: 'after' }]), {
    message: 'another change of it is being written',
  })
  t.equal(await readFile(left, 'utf8'), 'half', 'the file of the other writer stays')
  const old = new Date(Date.now() - 120_000)
  await utimes(left, old, old)
  await replaceFiles([{ path, before: 'before', after: 'after' }])
  t.equal(await readFile(path, 'utf8'), 'after')
})
