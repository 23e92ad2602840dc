import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { watchFile } from '../../src/cli/watch-file.ts'

async function makeFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-watch-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** The content after each reported change, in order. */
function watchContent(file: string) {
  const contents: Promise<string>[] = []
  watchFile(file, () => contents.push(readFile(file, 'utf8')))
  // A watch does not keep its process alive, so this polls until there are events.
  return async (count: number) => {
    while (contents.length < count) await sleep(20)
    return Promise.all(contents)
  }
}

/** As Kubernetes mounts a ConfigMap: the file is a link through `..data`, and a new version replaces that link. */
async function mountVersion(folder: string, version: number, text: string): Promise<void> {
  const name = `..version_${version}`
  await mkdir(join(folder, name))
  await writeFile(join(folder, name, 'gateway.yaml'), text)
  await symlink(name, join(folder, '..data_tmp'))
  await rename(join(folder, '..data_tmp'), join(folder, '..data'))
}

t.test('a linked file is read again when its target is swapped, as Kubernetes does', async t => {
  const folder = await makeFolder(t)
  const file = join(folder, 'gateway.yaml')
  await mountVersion(folder, 1, 'one')
  await symlink(join('..data', 'gateway.yaml'), file)
  const contents = watchContent(file)
  await mountVersion(folder, 2, 'two')
  t.same(await contents(1), ['two'])
  await mountVersion(folder, 3, 'three')
  t.same(await contents(2), ['two', 'three'])
})

t.test('a changed file is reported once, however it is saved, and files next to it are not', async t => {
  const folder = await makeFolder(t)
  const file = join(folder, 'gateway.yaml')
  await writeFile(file, 'one')
  const contents = watchContent(file)
  await writeFile(join(folder, 'neighbour'), 'x')
  await writeFile(join(folder, 'new'), 'two')
  await rename(join(folder, 'new'), file)
  t.same(await contents(1), ['two'])
  await writeFile(file, '')
  await writeFile(file, 'three')
  t.same(await contents(2), ['two', 'three'])
})

t.test('a target in another folder, a moved folder and a recreated file are followed', async t => {
  const folder = await makeFolder(t)
  const [conf, real] = [join(folder, 'conf'), join(folder, 'real')]
  const file = join(conf, 'gateway.yaml')
  await mkdir(conf)
  await mkdir(real)
  await writeFile(join(real, 'gateway.yaml'), '1 one')
  await symlink(join('..', 'real', 'gateway.yaml'), file)
  const contents = watchContent(file)
  await writeFile(join(real, 'gateway.yaml'), '2 target in place')
  t.match((await contents(1)).at(-1), '2 ')
  await writeFile(join(real, 'new'), '3 target by rename')
  await rename(join(real, 'new'), join(real, 'gateway.yaml'))
  t.match((await contents(2)).at(-1), '3 ')
  await mkdir(join(folder, 'next'))
  await writeFile(join(folder, 'next', 'gateway.yaml'), '4 another folder')
  await rename(conf, join(folder, 'before'))
  await rename(join(folder, 'next'), conf)
  t.match((await contents(3)).at(-1), '4 ')
  await rm(file)
  await sleep(700)
  await writeFile(file, '5 recreated')
  t.match((await contents(4)).at(-1), '5 ')
})

t.test('a file that starts to match a pattern is reported, in a folder that did not exist', async t => {
  const folder = await makeFolder(t)
  const file = join(folder, 'gateway.yaml')
  await writeFile(file, 'one')
  const changes: string[] = []
  const follow = watchFile(file, () => changes.push('change'))
  follow({ named: [], patterns: [join(folder, 'models/*.yaml')] })
  await mkdir(join(folder, 'models'))
  await writeFile(join(folder, 'models', 'a.yaml'), 'x')
  while (changes.length < 1) await sleep(20)
  await writeFile(join(folder, 'models', 'a.yaml'), 'y')
  while (changes.length < 2) await sleep(20)
  t.equal(changes.length, 2)
})
