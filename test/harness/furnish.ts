import type { Page } from 'playwright-core'
import type { Started } from './start.ts'
import { pngFile } from './pictures.ts'
import { offerToken, passwordOfTests, type Visitor } from './visitor.ts'

/** A page in one state. */
export type Scene = {
  /** The name of the picture's file. */
  readonly name: string
  readonly path: string
  /** The visitor who is signed in; none when false. */
  readonly inside?: boolean
  /** What must be visible before the page is checked, next to its heading. */
  readonly ready?: string
  /** The part of the page to take a picture of; the complete page when absent. */
  readonly part?: string
  /** Actions on the page before that. */
  readonly act?: (page: Page) => Promise<void>
}

/** Texts that users of a furnished gateway wrote, answers of models, and names of upstreams. */
export const written = [
  'a boat at dawn',
  'the customer got 2K and had asked for 4K',
  'a name that goes on and on and has no end',
  'simulated answer to',
  'alpha, beta, text',
]

/** The pages of a signed-in user before any request was sent. */
export const emptyScenes: readonly Scene[] = [
  { name: 'first-request', path: '/console', inside: true, ready: '.waiting' },
  { name: 'logs-none', path: '/console/logs', inside: true, ready: '.empty' },
]

/** Fills a gateway with the keys, users, requests and decisions of a typical day, and returns the resulting pages. */
export async function furnish(browsing: Started, admin: Visitor): Promise<readonly Scene[]> {
  const { gateway, post, settled, newKey } = browsing
  await admin.post('/api/users', { name: 'mei', role: 'user', group: 'partner', password: passwordOfTests })
  const made = await admin.post('/api/keys', {
    name: 'storefront',
    user: 'mei',
    budget: '25',
    budget_period: 'month',
    models: ['alpha-image-2', 'beta-imagine-image'],
  })
  const keyId = (made.body as { key: { id: string } }).key.id
  const gone = await newKey({ name: 'night job' })
  await admin.ask('DELETE', `/api/keys/${gone.id}`)
  const ask = async (path: string, body: object) => {
    const answer = await post(path, body)
    await answer.arrayBuffer()
    return answer.headers.get('x-request-id') ?? ''
  }
  const prompt = 'a boat at dawn'
  const image = '/v1/images/generations'
  const alpha = await ask(image, { model: 'alpha-image-2', prompt, size: '3840x2160', n: 2, quality: 'high' })
  const beta = await ask(image, { model: 'beta-imagine-image', prompt, size: '3840x2160', n: 3 })
  await ask(image, { model: 'beta-imagine-image', prompt, size: '1024x1024' })
  const unknown = await ask(image, { model: 'no-such-model', prompt })
  const messages = [{ role: 'user', content: 'Hello' }]
  const chat = await ask('/v1/chat/completions', { model: 'sim-chat', messages })
  await ask('/v1/embeddings', { model: 'sim-embedding', input: ['one', 'two'] })
  await ask('/v1/rerank', { model: 'sim-rerank', query: 'a boat', documents: ['a ship', 'a tree'] })
  await settled()
  await admin.post(`/api/logs/${beta}/refund`, { reason: 'the customer got 2K and had asked for 4K' })
  await gateway.storage.flush()
  return [...outside(await offerToken(browsing)), ...inside({ keyId, alpha, beta, chat, unknown })]
}

function outside(token: string): readonly Scene[] {
  return [
    { name: 'setup', path: `/console/setup#${token}`, ready: '[name=again]' },
    { name: 'login', path: '/console/login', ready: '[name=password]' },
    { name: 'pricing', path: '/pricing?model=beta-imagine-image&operation=image.generate&size=3840x2160&n=3' },
    { name: 'docs', path: '/docs' },
  ]
}

type Made = { readonly [name in 'keyId' | 'alpha' | 'beta' | 'chat' | 'unknown']: string }

function inside({ keyId, alpha, beta, chat, unknown }: Made): readonly Scene[] {
  const dialog = 'dialog[open]'
  const scenes: readonly Scene[] = [
    { name: 'costs', path: '', ready: '.bars svg' },
    { name: 'costs-narrowed', path: '?by=model&tier=4K', ready: '.bars svg' },
    { name: 'budgets', path: '/budgets', ready: '.meter' },
    { name: 'statements', path: `/statements?month=${new Date().toISOString().slice(0, 7)}`, ready: '.statement' },
    { name: 'tokens', path: '/tokens' },
    { name: 'token-new', path: '/tokens?new=1', ready: dialog },
    { name: 'token-refused', path: '/tokens?new=1', ready: dialog, act: createNameless },
    { name: 'token-once', path: '/tokens?new=1', ready: dialog, act: createToken },
    { name: 'token', path: `/tokens/${keyId}`, ready: `${dialog} dl` },
    { name: 'logs', path: '/logs' },
    { name: 'logs-live', path: '/logs?live=1&model=alpha-image-2&tier=2K&charge=settled' },
    { name: 'details-family-a', path: `/logs/${alpha}`, ready: `${dialog} .six` },
    { name: 'details-family-b', path: `/logs/${beta}`, ready: `${dialog} .six` },
    { name: 'details-refund', path: `/logs/${alpha}`, ready: `${dialog} .six`, act: askRefund },
    { name: 'details-missing', path: '/logs/req_00000000000000000000', ready: `${dialog} .problem` },
    { name: 'details-chat', path: `/logs/${chat}`, ready: `${dialog} .sum-text` },
    { name: 'details-error', path: `/logs/${unknown}`, ready: `${dialog} .note.bad` },
    { name: 'playground', path: '/playground?model=alpha-image-2', ready: '.quote', act: generate },
    { name: 'playground-links', path: '/playground?model=beta-imagine-image', ready: '.quote', act: generate },
    { name: 'playground-edit', path: '/playground?op=image.edit', ready: '.quote', act: chooseFiles },
    { name: 'playground-chat', path: '/playground?op=chat', act: chatWith },
    { name: 'playground-speech', path: '/playground?op=audio.speech' },
    { name: 'playground-transcription', path: '/playground?op=audio.transcribe' },
    { name: 'playground-embeddings', path: '/playground?op=embeddings' },
    { name: 'playground-rerank', path: '/playground?op=rerank' },
    { name: 'models', path: '/models' },
    { name: 'account', path: '/account' },
    { name: 'users', path: '/users' },
    { name: 'user-new', path: '/users?new=1', ready: dialog },
    { name: 'user', path: '/users?edit=mei', ready: dialog },
    { name: 'groups', path: '/users?tab=groups' },
    { name: 'config', path: '/config' },
    { name: 'config-origins', path: '/config?tab=origins' },
    { name: 'config-check', path: '/config?tab=check' },
    { name: 'config-wrong', path: '/config?tab=check', act: checkWrong },
    { name: 'audit', path: '/audit' },
    { name: 'sessions', path: '/sessions' },
    { name: 'objects', path: '/sessions?tab=objects' },
    { name: 'system', path: '/system' },
    { name: 'nowhere', path: '/nowhere' },
  ]
  return scenes.map(scene => ({ ...scene, path: `/console${scene.path}`, inside: true }))
}

async function createToken(page: Page): Promise<void> {
  await page.locator('dialog [name=name]').fill('storefront')
  await page.locator('dialog [type=submit]').click()
  await page.locator('dialog pre').first().waitFor()
}

async function createNameless(page: Page): Promise<void> {
  await page.locator('dialog [type=submit]').click()
  await page.locator('dialog [aria-invalid]').waitFor()
}

async function askRefund(page: Page): Promise<void> {
  await page.locator('dialog .button.danger').click()
  await page.locator('dialog [name=reason]').waitFor()
}

async function generate(page: Page): Promise<void> {
  await page.locator('[name=prompt]').fill('a boat at dawn')
  await page.locator('[name=size]').fill('3840x2160')
  // Both families show a warning for this size.
  await page.locator('.notes .note.warn').first().waitFor()
  await page.locator('[type=submit]').click()
  await page.locator('.line-text').waitFor()
}

async function chooseFiles(page: Page): Promise<void> {
  await page
    .locator('[name=image]')
    .setInputFiles([
      pngFile('harbour.png', 640, 480),
      pngFile('a name that goes on and on and has no end.png', 480, 640),
    ])
  await page.locator('[name=mask]').setInputFiles(pngFile('mask.png', 640, 480))
  await page.locator('.files li').nth(1).waitFor()
}

async function checkWrong(page: Page): Promise<void> {
  await page.locator('main textarea').fill('version: 1\ncurrency: usd\nmodles: {}\nstorage: floppy:/a\n')
  await page.locator('main [type=submit]').click()
  const isChinese = await page.evaluate("document.documentElement.lang === 'zh-CN'")
  const findings = page.locator('.notes .note.bad', isChinese ? { hasText: /缺少|应为|这里没有/ } : {})
  await findings.nth(3).waitFor()
}

async function chatWith(page: Page): Promise<void> {
  await page.locator('[name=message]').fill('Hello')
  await page.locator('[type=submit]').click()
  await page.locator('.sum-text').waitFor()
}

/** Opens a scene and waits until it is complete. */
export async function visit(page: Page, url: string, { path, ready, act }: Scene): Promise<void> {
  // A change of the fragment alone would not reload the page.
  await page.goto('about:blank')
  await page.goto(url + path)
  await page.locator('main h1').waitFor()
  if (ready) await page.locator(ready).first().waitFor()
  await act?.(page)
  await page.locator('.loading, [aria-busy=true]').first().waitFor({ state: 'detached' })
}
