import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { askSetup, type SetupAnswers } from '../../src/cli/ask-setup.ts'
import { listRecipes } from '../../src/index.ts'

const [enter, tab, down, escape] = ['\r', '\t', '\u001B[B', '\u0003']

/** Answers the prompts, each once it is shown. */
async function answer(known: SetupAnswers, steps: readonly (readonly [shown: RegExp, ...keys: string[]])[]) {
  const [input, output] = [new PassThrough(), new PassThrough()]
  let screen = ''
  output.setEncoding('utf8').on('data', (text: string) => (screen += text))
  const done = askSetup(known, known.vendor.length > 0 ? undefined : await listRecipes(), { input, output })
  const ended = done.then(
    () => true,
    () => true,
  )
  for (const [shown, ...keys] of steps) {
    while (!shown.test(screen)) await setImmediate()
    screen = ''
    for (const key of keys) {
      input.write(key)
      await setImmediate()
    }
  }
  await ended
  return done
}

t.test('init asks for vendors by search, and for the rest', async t => {
  const answers = await answer({ vendor: [] }, [
    [/Which vendors/, 'recraft', tab, enter],
    [/Address for clients/, '0.0.0.0:80', enter],
    [/Storage for keys/, down, enter],
    [/Store for rate limit/, enter],
  ])
  t.same(answers, { vendor: ['recraft'], listen: '0.0.0.0:80', storage: 'postgres://127.0.0.1/tollgate' })
})

t.test('Enter accepts every default, and flags leave questions out', async t => {
  const steps = [
    [/Which vendors/, enter],
    [/Address for clients/, enter],
    [/Store for rate limit/, enter],
  ] as const
  t.same(await answer({ vendor: [], storage: 'sqlite:./a.db' }, steps), { vendor: [], storage: 'sqlite:./a.db' })
  t.same(await answer({ vendor: ['flux'], listen: '127.0.0.1:1', storage: 'sqlite:./a.db' }, steps.slice(2)), {
    vendor: ['flux'],
    listen: '127.0.0.1:1',
    storage: 'sqlite:./a.db',
  })
})

t.test('a person who leaves gets nothing', async t => {
  await t.rejects(answer({ vendor: [] }, [[/Which vendors/, escape]]), { code: 1 })
})
