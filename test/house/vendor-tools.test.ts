import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { isClientTool, makesImages } from '../../src/domain/index.ts'
import { familyTexts } from '../../src/tools/import/families.ts'
import { caseName } from '../harness/case-name.ts'

const root = resolve(import.meta.dirname, '../..')
type Family = {
  readonly forward?: { readonly [operation: string]: readonly string[] | { readonly all?: true } }
  readonly vendor_tools?: readonly string[]
}

/** Whether a body's tools are forwarded unchanged. */
function sendsTools({ forward = {} }: Family): boolean {
  return ['chat', 'responses', 'messages', 'generate'].some(name => {
    const rule = forward[name]
    return rule !== undefined && ('all' in rule || (rule as readonly string[]).includes('tools'))
  })
}

function* writtenFamilies(): Generator<readonly [where: string, family: Family]> {
  for (const file of globSync('{gateway.yaml,deploy/**/gateway.yaml,docs/recipes/*.md}', { cwd: root })) {
    const text = readFileSync(resolve(root, file), 'utf8')
    const blocks = file.endsWith('.md')
      ? [...text.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, own = '']) => own)
      : [text]
    for (const block of blocks)
      for (const [name, family] of Object.entries(
        (parse(block) as { families?: { [name: string]: Family } }).families ?? {},
      ))
        yield [`${file} ${name}`, family]
  }
  for (const [name, { family }] of Object.entries(familyTexts))
    yield [`import ${name}`, parse(`    ${family}`) as Family]
}

t.test('every shipped family that forwards tools lists those that the upstream may run, and none makes images', t => {
  const all = [...writtenFamilies()].filter(([, family]) => sendsTools(family))
  t.ok(all.length >= 12, 'they are found')
  for (const [where, { vendor_tools: tools }] of all) {
    t.ok(Array.isArray(tools), caseName({ where }))
    for (const one of tools ?? []) {
      t.not(one, '*', caseName({ where }))
      t.notOk(makesImages(one), caseName({ where, one }))
      t.notOk(isClientTool(one), caseName({ where, one }))
    }
  }
  t.end()
})
