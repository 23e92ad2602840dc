import t from 'tap'
import { selectFindings } from '../../src/cli/select-findings.ts'
import type { LintFinding } from '../../src/index.ts'
import { makeFolder } from '../harness/folder.ts'

const finding = (severity: LintFinding['severity'], code: string, line: number): LintFinding => ({
  severity,
  code,
  file: 'gateway.yaml',
  line,
  col: 1,
  path: 'models.m',
  message: 'm',
  caret: '',
})

t.test('many notes of a kind are folded, errors and warnings never', async t => {
  const lines = Array.from({ length: 5 }, (_, i) => i + 1)
  const all = (['note', 'warning', 'error'] as const).flatMap(severity =>
    lines.map(line => finding(severity, `${severity}_of_a_kind`, line)),
  )
  const { shown, more } = selectFindings([...all, finding('note', 'another', 9)])
  t.same(
    shown.map(({ code, line }) => `${code} ${line}`).filter(text => text.includes('note') || text.includes('another')),
    ['note_of_a_kind 1', 'note_of_a_kind 2', 'note_of_a_kind 3', 'another 9'],
  )
  t.equal(shown.filter(({ severity }) => severity !== 'note').length, 10)
  t.same(more, ['2 more notes of the kind note_of_a_kind: --format json prints all'])
})

t.test('check shows a few of many models that have ended, and JSON all of them', async t => {
  const place = await makeFolder(t)
  const line = '{ family: chat, upstream: text, price: free, ends: 2020-01-01 }'
  await place.write('gateway.yaml', [
    /^models:\n/m,
    `models:\n${Array.from({ length: 7 }, (_, i) => `  old-${i}: ${line}\n`).join('')}`,
  ])
  const { code, stderr } = await place.run('check')
  t.equal(code, 0, stderr)
  t.equal(stderr.match(/has ended/g)?.length, 3, stderr)
  t.match(stderr, /^4 more notes of the kind \w+: --format json prints all$/m)
  const { stdout } = await place.run('check', '--format', 'json')
  t.equal(stdout.match(/has ended/g)?.length, 7, stdout)
})
