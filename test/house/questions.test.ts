import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { loadConfig } from '../../src/index.ts'
import { anchorsOf } from './references.ts'

const root = resolve(import.meta.dirname, '../..')
const docs = join(root, 'docs')
const page = await readFile(join(docs, 'questions.md'), 'utf8')
const questions = page
  .split(/^### /m)
  .slice(1)
  .map(part => {
    const [title = '', ...rest] = part.split('\n')
    return { title, answer: rest.join('\n').split(/^## /m)[0]?.trim() ?? '' }
  })

// docs.test.ts checks that its commands exist, as for every page.
t.test('every question has a short answer and a link to an existing heading', async t => {
  t.ok(questions.length >= 25, `${questions.length} questions`)
  t.equal(new Set(questions.map(({ title }) => title)).size, questions.length)
  for (const { title, answer } of questions) {
    t.match(title, /[?]$/, `${title}: it is a question`)
    const sentences = answer.split(/[.:?](?=\s|$)/).filter(words => /\w/.test(words))
    t.ok(sentences.length <= 5, `${title}: ${sentences.length} sentences`)
    const links = [...answer.matchAll(/\]\(([^)#\s]+)(?:#([^)\s]+))?\)/g)]
    t.ok(links.length > 0, `${title}: it leads somewhere`)
    for (const [, file = '', anchor] of links) {
      const text = await readFile(join(docs, file), 'utf8').catch(() => undefined)
      t.ok(text !== undefined, `${title}: ${file}`)
      if (anchor !== undefined) t.ok(anchorsOf(text ?? '').includes(anchor), `${title}: ${file}#${anchor}`)
    }
    // A link to a long page names the heading.
    const exact = links.filter(([, file, anchor]) => anchor !== undefined || file?.startsWith('examples/'))
    t.ok(exact.length > 0, `${title}: it leads to a place`)
  }
})

t.test(
  'three vendors with several keys, eight models, three groups: next to what init writes, in 50 lines',
  async t => {
    const folder = await mkdtemp(join(tmpdir(), 'tollgate-team-'))
    t.teardown(() => rm(folder, { recursive: true, force: true }))
    const team = await readFile(join(docs, 'examples/team/team.yaml'), 'utf8')
    const lines = team.split('\n').filter(line => line.trim() !== '' && !line.startsWith('#'))
    const readme = await readFile(join(docs, 'examples/team/README.md'), 'utf8')
    t.match(readme, `is ${lines.length} lines of YAML`)
    t.ok(lines.length <= 50, `${lines.length} lines`)
    await writeFile(join(folder, 'team.yaml'), team)
    const { OPENAI_URL: _, ...rest } = process.env
    const names = [...new Set([...team.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name))]
    const env = { ...rest, NODE_OPTIONS: '', ...Object.fromEntries(names.map(name => [name, `sk-${name}`])) }
    const tollgate = (...args: readonly string[]) =>
      promisify(execFile)(process.execPath, [join(root, 'src/cli/tollgate.cjs'), ...args], { cwd: folder, env })
    await tollgate('init', '--yes')
    const config = join(folder, 'gateway.yaml')
    // As on the page.
    t.match(readme, String.raw`sed -i 's/^version: 1$/version: 1\ninclude: [team.yaml]/' gateway.yaml`)
    const written = await readFile(config, 'utf8')
    await writeFile(config, written.replace(/^version: 1$/m, 'version: 1\ninclude: [team.yaml]'))
    t.match((await tollgate('check')).stderr, /gateway\.yaml is valid/)

    const loaded = await loadConfig(config, env)
    if (!loaded.ok) throw new Error('it is not valid')
    const { plan } = loaded
    const own = [...plan.models.values()].filter(({ name }) => team.includes(`\n  ${name}:`))
    t.equal(own.length, 8)
    for (const name of ['openai', 'anthropic', 'google']) t.ok(plan.upstreams.get(name), name)
    for (const name of ['trial', 'team', 'product']) t.ok(plan.groups.get(name), name)
  },
)
