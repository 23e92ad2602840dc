import { chmod, mkdir, readFile, readlink, rename, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { caseName } from '../harness/case-name.ts'
import { findConfigKey, listConfigKeys } from '../../src/index.ts'
import { makeFolder, root } from '../harness/folder.ts'

t.test('fmt writes the layout, --check only reports; a broken file is unchanged', async t => {
  const place = await makeFolder(t)
  await place.write(
    'gateway.yaml',
    ['sim-chat: { family: chat, upstream', 'sim-chat:   {family: chat,upstream'],
    ['currency: USD', 'currency:    USD  '],
  )
  t.match(await place.run('fmt', '--check'), {
    code: 1,
    stdout: '',
    stderr: /not formatted; run tollgate fmt gateway\.yaml/,
  })
  t.match(await place.run('fmt'), { code: 0, stderr: /has been formatted/ })
  t.equal(await readFile(place.path('gateway.yaml'), 'utf8'), await readFile(join(root, 'gateway.yaml'), 'utf8'))
  t.match(await place.run('fmt', 'gateway.yaml'), { code: 0, stderr: /is formatted/ })
  await writeFile(place.path('broken.yaml'), 'a: [1\n')
  t.match(await place.run('fmt', 'broken.yaml'), { code: 3, stderr: /broken\.yaml:\d+:\d+/ })
  t.equal(await readFile(place.path('broken.yaml'), 'utf8'), 'a: [1\n')
  t.match(await place.run('fmt', 'none.yaml'), { code: 3, stderr: /cannot be read: ENOENT/ })
  await writeFile(place.path('unset.yaml'), 'version:   1\nstorage: "${UNSET_HERE}"\n')
  t.match(await place.run('fmt', 'unset.yaml'), { code: 0 }, 'a file that is not valid can be laid out all the same')
  t.equal(await readFile(place.path('unset.yaml'), 'utf8'), 'version: 1\nstorage: "${UNSET_HERE}"\n')
})

t.test('fmt and init --vendor follow links, keep the mode, and lose no byte', async t => {
  const place = await makeFolder(t)
  await place.write('gateway.yaml', ['currency: USD', 'currency:    USD'])
  const file = place.path('gateway.yaml')
  await mkdir(place.path('real'))
  await rename(file, place.path('real/gateway.yaml'))
  await symlink('real/gateway.yaml', file)
  await chmod(file, 0o600)
  for (const command of [['fmt'], ['init', '--vendor', 'fal']]) {
    const named = (what: string) => caseName({ command: command[0], what })
    t.match(await place.run(...command), { code: 0 }, named('exit'))
    t.equal(await readlink(file), 'real/gateway.yaml', named('link'))
    t.equal((await stat(file)).mode & 0o777, 0o600, named('mode'))
  }
  t.match(await readFile(place.path('real/gateway.yaml'), 'utf8'), /\ncurrency: USD\n[^]*fal/)
  const bytes = Buffer.from('version: 1 # caf\u00e9\ncurrency:    USD\n', 'latin1')
  await writeFile(file, bytes)
  t.match(await place.run('fmt'), { code: 1, stderr: /not UTF-8; save it as UTF-8 first/ })
  t.same(await readFile(file), bytes)
})

t.test('check and lint print GitHub and SARIF formats; exit codes stay', async t => {
  const place = await makeFolder(t)
  await place.write('bad.yaml', ['rpm: 60,', 'rpm: sixty,'])
  await place.write('risky.yaml', { 'server/ops': '0.0.0.0:9464' })
  const [github, sarif, audited, silenced, invalid, rules, misspelt] = await Promise.all([
    place.run('check', 'bad.yaml', '--format', 'github'),
    place.run('check', 'bad.yaml', '--format', 'sarif'),
    place.run('lint', 'risky.yaml', '--format', 'github'),
    place.run('lint', 'risky.yaml', '--ignore', 'ops-public', '--format', 'json'),
    place.run('lint', 'bad.yaml'),
    place.run('lint', '--rules'),
    place.run('audit', '--ignore', 'ops-publik', 'risky.yaml'),
  ])
  t.match(github, {
    code: 3,
    stdout: /^::error file=bad\.yaml,line=\d+,col=\d+,title=value_type::groups\.default\.rpm: found/,
  })
  t.match(JSON.parse(sarif.stdout), {
    version: '2.1.0',
    runs: [{ results: [{ ruleId: 'value_type', level: 'error' }] }],
  })
  t.equal(sarif.code, 3)
  t.match(audited, {
    code: 1,
    stdout: /^::error file=risky\.yaml,line=\d+,col=\d+,title=ops-public::/,
    stderr: /1 error,/,
  })
  t.match(silenced, { code: 0, stdout: '' })
  t.match(invalid, { code: 3, stderr: /is invalid, so it was not linted/ })
  t.match(rules, { code: 0, stdout: /^RULE .*\nliteral-secret +error /m })
  t.match(misspelt, { code: 2, stderr: /no rule 'ops-publik'/ })
})

t.test('config prints the effective values and their origins; secrets are redacted', async t => {
  const place = await makeFolder(t)
  await place.write('gateway.yaml')
  const env = { ALPHA_URL: 'https://alpha.example', ALPHA_API_KEY: 'secret-of-alpha' }
  const [all, origins, json, missing] = await Promise.all([
    place.runWith(env, 'config'),
    place.runWith(env, 'config', 'upstreams.alpha', '--show-origin'),
    place.runWith(env, 'config', 'server', '--format', 'json'),
    place.run('config', 'serverr'),
  ])
  t.match(all, {
    code: 0,
    stdout: /^version: 1$[^]*^pipeline\[0\]: auth$[^]*^routes\[0\]\.operation: image\.generate$/m,
  })
  t.notMatch(all.stdout + origins.stdout, 'secret-of-alpha')
  t.match(
    origins.stdout,
    /^upstreams\.alpha\.url: https:\/\/alpha\.example +# environment ALPHA_URL, gateway\.yaml:\d+:\d+$/m,
  )
  t.match(origins.stdout, /^upstreams\.alpha\.credential\.value: \*\*\* +# environment ALPHA_API_KEY, /m)
  t.match(origins.stdout, /^upstreams\.alpha\.credential\.header: authorization +# gateway\.yaml:\d+:\d+$/m)
  t.match(origins.stdout, /^upstreams\.alpha\.cooldown\.failures: 3 +# default$/m)
  const values = json.stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  t.match(values, [{ path: 'server.listen', from: 'default', references: ['TOLLGATE_LISTEN'], file: 'gateway.yaml' }])
  t.match(missing, { code: 2, stdout: '', stderr: /no key 'serverr'\n\(Did you mean server\?\)/ })
})

t.test('docs finds a key in any notation, and suggests similar ones', async t => {
  const place = await makeFolder(t)
  const [timeout, json, near] = await Promise.all([
    place.run('docs', 'upstreams.alpha.timeouts.connect'),
    place.run('docs', 'models.prices', '--format', 'json'),
    place.run('docs', 'models.prises'),
  ])
  t.match(timeout, {
    code: 0,
    stdout:
      /^upstreams\.NAME\.timeouts\.connect\n.*\n {2}type +a duration\n {2}default +5s\n {2}allowed +a number over 0.*\n {2}example +connect: 5s\n$/,
  })
  t.match(JSON.parse(json.stdout), { path: 'models.NAME.prices', type: 'a mapping', example: '{ name: "0.04" }' })
  t.match(near, { code: 2, stdout: '', stderr: /Did you mean models\.prices\?/ })

  const found: readonly (readonly [name: string, path: string])[] = [
    ['server', 'server'],
    ['models', 'models'],
    ['models.gpt-4', 'models.NAME'],
    ['models.gpt-4.prices', 'models.NAME.prices'],
    ['routes[0].match', 'routes[].match'],
    ['image-tier-billing.tier_from', 'families.NAME.image-tier-billing.tier_from'],
    ['tier_from', 'families.NAME.image-tier-billing.tier_from'],
    ['multipart-rewrite', 'families.NAME.multipart-rewrite'],
    ['auth.bad_keys_per_minute', 'pipeline[].auth.bad_keys_per_minute'],
  ]
  for (const [name, path] of found) t.match(await findConfigKey(name), { ok: true, facts: { path } }, name)
  t.same(await findConfigKey('rpm'), {
    ok: false,
    near: [
      'groups.rpm',
      'groups.limits_per_user.rpm',
      'groups.limits_per_end_user.rpm',
      'groups.limits_in_all.rpm',
      'upstreams.keys.rpm',
      'models.limits.rpm',
    ],
  })
  t.same(await findConfigKey('nothing-of-the-kind'), { ok: false, near: [] })
  for (const { path, description, type } of await listConfigKeys()) t.ok(description !== '' && type !== '', path)
})

t.test('completion knows commands, flags, values and keys', async t => {
  const place = await makeFolder(t)
  const [bash, zsh, fish] = await Promise.all(['bash', 'zsh', 'fish'].map(shell => place.run('completion', shell)))
  await writeFile(place.path('c.bash'), bash?.stdout ?? '')
  const complete = async (...words: readonly string[]): Promise<readonly string[]> => {
    const script =
      'source ./c.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tollgate; printf "%s\\n" "${COMPREPLY[@]}"'
    return (await place.start('bash', ['-c', script, 'bash', 'tollgate', ...words])).stdout.trim().split('\n')
  }
  t.same(await complete('ke'), ['keys'])
  t.same(await complete('keys', 'cr'), ['create'])
  t.same(await complete('keys', 'create', '--na'), ['--name'])
  t.same(await complete('check', '--format', ''), ['text', 'json', 'github', 'sarif'])
  t.same(await complete('docs', 'image-tier-billing.tier_'), ['image-tier-billing.tier_from'])
  t.same(await complete('completion', 'f'), ['fish'])
  t.same(await complete('serve', '-c', ''), [''], 'a file: the shell completes those itself')
  t.match(zsh?.stdout, /^#compdef tollgate\n[^]*bashcompinit[^]*complete -o default -F _tollgate tollgate/)
  t.match(fish?.stdout, /^complete -c tollgate -n '__tollgate_at \\' keys create\\'' -l name /m)
  t.match(await place.run('completion', 'tcsh'), { code: 2, stderr: /Allowed choices are bash, zsh, fish/ })
})
