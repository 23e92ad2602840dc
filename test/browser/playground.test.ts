import type { Page } from 'playwright-core'
import t from 'tap'
import { browse, browseAsAdmin, browserMissing, slowness } from '../harness/browser.ts'
import { filesOf, readParts, textsOf } from '../harness/edits.ts'
import { picture, pngFile } from '../harness/pictures.ts'
import { sha256, startUpstream } from '../harness/upstream.ts'
import { enterAsAdmin, type Visitor } from '../harness/visitor.ts'
import { caseName } from '../harness/case-name.ts'

const skip = browserMissing
t.setTimeout(110_000 * slowness)

/** Parses an amount such as `0.08 USD`. */
const money = (text: string | null): number => Number(/\d+\.\d+/.exec(text ?? '')?.[0])

type Quote = { readonly expected: string | null; readonly at_most: string }

/** Requests this many pictures of a size, and reads their expected cost from the playground. */
async function readQuote(page: Page, admin: Visitor, size: string, n: number): Promise<Quote> {
  const { searchParams } = new URL(page.url())
  const query = { model: searchParams.get('model'), operation: searchParams.get('op'), size, n }
  // Sent again for the same request from here: not every browser exposes the requests of a page.
  const { quote } = (await admin.post('/api/explain', query)).body as { quote: Quote }
  await page.locator('[name=size]').fill(size)
  await page.locator('[name=n]').fill(String(n))
  await page.locator('.notes[aria-busy=false] .quote', { hasText: quote.at_most }).waitFor()
  return quote
}

async function readBill(page: Page): Promise<{ amount: number; line: string }> {
  const bill = page.getByRole('region', { name: 'Bill' })
  await bill.waitFor()
  const amount = money(await bill.locator('.sum').textContent())
  return { amount, line: (await bill.locator('.line-text').textContent()) ?? '' }
}

t.test('images of both families are quoted before and billed after generation and editing', { skip }, async t => {
  const browsing = await browseAsAdmin(t)
  const { url, faults, charges, admin } = browsing
  const page = await browsing.newPage({ as: admin })
  for (const model of ['alpha-image-2', 'beta-imagine-image']) {
    for (const operation of ['image.generate', 'image.edit']) {
      await page.goto(`${url}/console/playground?op=${operation}&model=${model}`)
      await page.locator('[name=prompt]').fill('a boat at dawn')
      if (operation === 'image.edit')
        await page.locator('[name=image]').setInputFiles([pngFile('one.png', 640, 480), pngFile('two.png', 480, 640)])
      const quote = await readQuote(page, admin, '3840x2160', 2)
      const atMost = money(quote.at_most)
      t.ok(atMost > 0, `at most ${quote.at_most}`)
      await page.getByRole('button', { name: 'Send' }).click()
      const { amount, line } = await readBill(page)
      const what = `${operation} of ${model}`
      t.ok(amount > 0 && amount <= atMost, `${what}: ${amount} within the quote`)
      if (quote.expected === quote.at_most) t.equal(amount, atMost, `${what}: the quote was no range`)
      const [charge] = await charges()
      t.equal(line, charge?.text, `${what}: the bill is the charge`)
      t.match(
        line,
        /^大小 .*, 请求品质 .*, 生成数量 .*, 图片档位 .*, 来源 .*, 实际尺寸 /,
        caseName({ model, operation }),
      )
      if (model === 'alpha-image-2') {
        t.equal(await page.locator('.pictures img').count(), 2, caseName({ model, operation }))
        await page
          .getByText(/^\d+x\d+ · /)
          .first()
          .waitFor()
      } else {
        t.equal(await page.locator('.pictures img').count(), 0, 'a link is not followed')
        t.equal(await page.locator('.pictures .unopened a').count(), 2, caseName({ model, operation }))
      }
    }
  }
  t.strictSame(faults, [])
})

t.test('files are sent in the order of selection, with the mask', { skip }, async t => {
  const browsing = await browse(t, { simulated: false, upstreams: ['alpha'] })
  const { url, upstream, faults } = browsing
  const page = await browsing.newPage({ as: await enterAsAdmin(browsing) })
  upstream.answer({ created: 1, data: [picture(1254, 1254)] })
  await page.goto(`${url}/console/playground?op=image.edit&model=alpha-image-2`)
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('Required').waitFor()
  await page.locator('[name=prompt]').fill('a boat')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('Choose at least one image').waitFor()
  const names = ['a.png', '<img src=x onerror=alert(1)>.png', 'c\u202egnp.exe.png', 'd.png']
  const files = names.map((name, i) => pngFile(name, 100 + i, 100))
  await page.locator('[name=image]').setInputFiles(files)
  await page.locator('[name=mask]').setInputFiles(pngFile('mask.png', 64, 64))
  await page.getByRole('button', { name: 'Move d.png up' }).click()
  await page.getByRole('button', { name: 'Move a.png down' }).click()
  await page.getByRole('button', { name: `Remove ${names[2]}` }).click()
  const listed = page.getByRole('list', { name: 'Reference images' }).locator('.theirs')
  t.strictSame(await listed.allTextContents(), [names[1], 'a.png', 'd.png'])
  await page.getByRole('button', { name: 'Send' }).click()
  await readBill(page)
  const sent = await readParts(
    upstream.received[0]?.body ?? Buffer.alloc(0),
    upstream.received[0]?.headers['content-type'],
  )
  t.strictSame(
    filesOf(sent, 'image').map(part => part.sha256),
    [1, 0, 3].map(i => sha256(files[i]?.buffer ?? Buffer.alloc(0))),
  )
  t.equal(filesOf(sent, 'mask').length, 1)
  t.match(textsOf(sent), { prompt: 'a boat', model: 'alpha-image-2' })
  t.strictSame(faults, [])
})

t.test('a link in an answer is never loaded automatically', { skip }, async t => {
  const sentinel = await startUpstream()
  t.teardown(() => sentinel.close())
  const browsing = await browse(t, { simulated: false, upstreams: ['beta'] })
  const { url, upstream, faults } = browsing
  const page = await browsing.newPage({ as: await enterAsAdmin(browsing) })
  page.on('dialog', dialog => {
    faults.push(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  const links = [`${sentinel.url}/picture.png`, 'javascript:alert(1)', 'data:text/html,<script>alert(1)</script>']
  upstream.answer({ created: 1, data: links.map(link => ({ url: link })) })
  await page.goto(`${url}/console/playground?model=beta-imagine-image`)
  await page.locator('[name=prompt]').fill('a boat')
  await page.getByRole('button', { name: 'Send' }).click()
  await readBill(page)
  t.equal(await page.locator('.unopened').count(), links.length)
  t.strictSame(
    await page.locator('.unopened a').evaluateAll(all => all.map(one => one.getAttribute('href'))),
    [links[0]],
    'only the first may be opened at all',
  )
  t.match(await page.locator('.unopened a').getAttribute('rel'), 'noopener noreferrer')
  t.equal(await page.locator('.pictures img').count(), 0)
  t.equal(sentinel.received.length, 0)
  t.strictSame(faults, [])
  // When asked to fetch it, the gateway contacts only public addresses.
  await page.getByRole('button', { name: 'Show it here' }).click()
  await page.getByText('The gateway could not show the image').waitFor()
  t.equal(sentinel.received.length, 0)
})

t.test('an event of a chat that has no text hides nothing of the answer', { skip }, async t => {
  const browsing = await browse(t, { simulated: false, upstreams: ['text'] })
  const { url, upstream, faults } = browsing
  const page = await browsing.newPage({ as: await enterAsAdmin(browsing) })
  const chunk = (content: string) => JSON.stringify({ choices: [{ index: 0, delta: { content } }] })
  const events = [
    chunk('a boat'),
    'null',
    '{"choices":null}',
    '{"choices":[null]}',
    'ping',
    chunk(' at dawn'),
    '[DONE]',
  ]
  const body = events.map(event => `data:${event}\n\n`).join('')
  upstream.answer(response => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(body))
  await page.goto(`${url}/console/playground?op=chat`)
  await page.locator('[name=message]').fill('a boat')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.locator('.reply', { hasText: 'a boat at dawn' }).waitFor()
  t.equal(await page.getByRole('alert').count(), 0)
  t.strictSame(faults, [])
})

t.test('advice is a button, and a chat continues after its earlier turns', { skip }, async t => {
  const browsing = await browseAsAdmin(t)
  const { url, faults, admin } = browsing
  const page = await browsing.newPage({ as: admin })
  await page.goto(`${url}/console/playground?op=image.generate&model=beta-imagine-image&size=3840x2160`)
  await page.getByRole('button', { name: 'Use 2048x1152, saves 0.04 USD' }).click()
  await page.locator('.notes[aria-busy=false] .quote', { hasText: '(2K)' }).waitFor()
  t.equal(await page.locator('[name=size]').inputValue(), '2048x1152')
  t.notMatch(page.url(), 'size=', 'the size of the address is used once')

  await page.goto(`${url}/console/playground?op=chat`)
  const message = page.locator('[name=message]')
  await message.fill('a boat')
  await page.getByText('Estimate for about 2 input tokens').waitFor()
  await page.locator('[name=max_tokens]').fill('x')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('Enter a number of at least 0').waitFor()
  await page.locator('[name=max_tokens]').fill('50')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByRole('button', { name: 'Continue the conversation' }).click()
  t.equal(await message.inputValue(), '')
  await message.fill('a tree')
  const [request] = await Promise.all([
    page.waitForRequest(/chat\/completions$/),
    page.getByRole('button', { name: 'Send', exact: true }).click(),
  ])
  const { messages, max_tokens: most } = request.postDataJSON() as {
    readonly messages: readonly { readonly role: string; readonly content: string }[]
    readonly max_tokens: number
  }
  t.equal(most, 50)
  t.match(messages, [
    { role: 'user', content: 'a boat' },
    { role: 'assistant', content: /a boat/ },
    { role: 'user', content: 'a tree' },
  ])
  await page.getByRole('button', { name: 'Start over' }).click()
  t.equal(await page.locator('.turns').count(), 0)
  t.strictSame(faults, [])
})
