import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGateway, createKey, importConfig, loadConfig } from '../../src/index.ts'
import { ask, keysOf, movedTo, requestsOf, vendorAt } from '../harness/import-vendor.ts'
import { quietLog } from '../harness/start.ts'
import { startUpstream } from '../harness/upstream.ts'

/**
 * Imports every `config.yaml` of LiteLLM in a folder, starts each with one server for all vendors, and requests every
 * active name: `npm run tables:imports -- FOLDER model_prices_and_context_window.json`. Exits 1 when an active name
 * does not answer.
 */
const [folder, prices] = process.argv.slice(2)
if (folder === undefined || prices === undefined) throw new Error('name a folder of files and a table of prices')

/** Valid vendor paths: one version, and no open placeholder. */
const isPlace = (path: string): boolean =>
  !/[{}]|\/v1\/v1\/|invalid/.test(path.replace('-is-not-set.invalid', '')) &&
  /\/(?:chat\/completions|messages|embeddings|audio\/speech|transcriptions|moderations|rerank|images\/generations|\w+:(?:rawPredict|generateContent))$|:(?:rawPredict|generateContent)$/.test(
    path,
  )

const fake = await startUpstream(vendorAt(isPlace))
const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})
const account = JSON.stringify({
  type: 'service_account',
  client_email: 'a@b.example',
  private_key: privateKey,
  token_uri: `${fake.url}/oauth2.googleapis.com/token`,
})

console.log('| file | names | active | answered | without a price |\n|---|---|---|---|---|')
for (const name of readdirSync(folder).filter(one => /\.ya?ml$/.test(one))) {
  const imported = await importConfig(join(folder, name), 'litellm', { prices, localFree: true, mode: 'chat' })
  if (!imported.ok) {
    console.log(`| ${name} | ${JSON.stringify(imported.findings)} | | | |`)
    continue
  }
  const { all, active } = imported.models
  const unpriced = imported.text.split('\n').filter(line => /^ {2}# .{1,200} is off: it has no input_cost/.test(line))
  const silent = active === 0 ? [] : await silentNames(imported.text)
  const failed = silent.length === 0 ? '' : `: not ${silent.join(', ')}`
  console.log(`| ${name} | ${all} | ${active} | ${active - silent.length}${failed} | ${unpriced.length} |`)
  if (silent.length > 0) process.exitCode = 1
}
await fake.close()

/** Names that fail for one of their clients. */
async function silentNames(written: string): Promise<readonly string[]> {
  const place = mkdtempSync(join(tmpdir(), 'tollgate-imports-'))
  const text = movedTo(fake.url, written)
    .replaceAll(/\$\{TOLLGATE_(?:LISTEN|OPS):-[^}]*\}/g, '127.0.0.1:0')
    .replace(/\$\{TOLLGATE_STORAGE:-[^}]*\}/, `sqlite:${join(place, 'gateway.db')}`)
  const env = { ...keysOf(text), VERTEX_SERVICE_ACCOUNT_KEY: account }
  const file = join(place, 'gateway.yaml')
  const loaded = await loadConfig({ file, text }, env)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.findings, null, 1))
  const gateway = await createGateway({ file, text }, { env, log: quietLog() })
  try {
    const { url } = await gateway.listen()
    const { secret: key } = await createKey(gateway.storage, { name: 'all', user: 'local' })
    const silent: string[] = []
    for (const model of loaded.plan.models.values())
      for (const one of requestsOf(model)) {
        const response = await ask(url, key, one)
        const answerText = await response.text()
        if (response.status !== 200)
          silent.push(`${model.name} at ${one[0]} (${response.status} ${answerText.slice(0, 160)})`)
      }
    return silent
  } finally {
    await gateway.close()
    rmSync(place, { recursive: true, force: true })
  }
}
