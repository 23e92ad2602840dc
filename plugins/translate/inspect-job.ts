import { parseDuration } from '../../src/plugin-api/index.ts'
import { httpStatus } from './describe.ts'
import { inside } from './inspect-answer.ts'
import { type Problem, problem } from './problem.ts'
import type { JobSettings, Section, StepSettings } from './schema.ts'
import { compileTemplate } from './template.ts'

const states = ['running', 'done', 'failed'] as const

export function jobIn({ job, refused = [] }: Section): readonly Problem[] {
  if (!job) return []
  return [
    ...inside(job.id, ['job', 'id']),
    ...inside(job.state, ['job', 'state']),
    ...Object.entries(job.keep ?? {}).flatMap(([name, path]) => inside(path, ['job', 'keep', name])),
    ...statesIn(job, refused.length > 0),
    ...timesIn(job),
    ...stepIn(job.poll, 'poll', job),
    ...(job.result ? stepIn(job.result, 'result', job) : []),
  ]
}

function wordsOf(words: unknown): readonly string[] {
  return [words ?? []].flat().map(String)
}

/** @param isRefusable a response may report in another way that the job failed */
function statesIn(job: JobSettings, isRefusable: boolean): readonly Problem[] {
  const found: Problem[] = []
  if (wordsOf(job.done).length === 0) {
    const remedy = "list the vendor's states of a finished job"
    found.push(problem('job_endless', ['job', 'done'], 'no state means that the job is done, so it never ends', remedy))
  }
  if (wordsOf(job.failed).length === 0 && job.state !== httpStatus && !isRefusable)
    found.push({
      severity: 'note',
      code: 'job_failure_unknown',
      path: ['job'],
      message: `no state means that the job has failed, so a failed job is polled until ${job.within ?? '10m'} have passed`,
      remedy: "add failed: the vendor's states of a failed job",
    })
  const first = new Map<string, string>()
  for (const key of states) {
    for (const [i, word] of wordsOf(job[key]).entries()) {
      const before = first.get(word)
      if (before === undefined) first.set(word, key)
      else {
        const path = ['job', key, ...(Array.isArray(job[key]) ? [i] : [])]
        const message = `'${word}' is already listed under ${before}`
        found.push(problem('state_repeated', path, message, 'keep it in one of them'))
      }
    }
  }
  return found
}

function timesIn({ every, within }: JobSettings): readonly Problem[] {
  const [often, long] = [parseDuration(every ?? '2s') ?? 0, parseDuration(within ?? '10m') ?? 0]
  if (often < long) return []
  const message = `it times out after ${within}, before it is polled twice`
  return [problem('job_impatient', ['job', 'within'], message, `write more than ${every}`)]
}

/** Checks the polled address, and the names in it, which must have values. */
function stepIn(step: StepSettings, key: 'poll' | 'result', job: JobSettings): readonly Problem[] {
  const at = ['job', key]
  const found: Problem[] = []
  const { path, url, body, hosts, headers } = step
  if (path === undefined && url === undefined) {
    const remedy = 'add path: /v1/tasks/{id}, or url: "{poll_url}" with poll_url under keep'
    found.push(problem('job_step_nowhere', at, 'the URL to poll is not configured', remedy))
  }
  if (path !== undefined && url !== undefined)
    found.push(problem('job_step_twice', [...at, 'url'], 'found path and url', 'keep one of the two'))
  if (hosts !== undefined && url === undefined)
    found.push(problem('key_unfit', [...at, 'hosts'], "'hosts' only has an effect with url", 'remove hosts'))
  const known = new Set(['id', 'model', ...Object.keys(job.keep ?? {})])
  const texts = { ...(path !== undefined && { path }), ...(url !== undefined && { url }), ...(body && { body }) }
  for (const [name, value] of Object.entries(texts)) {
    const unknown = [...compileTemplate(value).refs].filter(ref => !known.has(ref))
    for (const ref of unknown) {
      const remedy = `write one of ${[...known].join(', ')}, or add ${ref} under keep, with its path in the first response`
      found.push(problem('name_unkept', [...at, name], `'{${ref}}' is not defined under keep`, remedy))
    }
  }
  for (const [name, value] of Object.entries(headers ?? {}))
    if (compileTemplate(value).refs.size > 0) {
      const message = 'headers are sent unchanged, without placeholders'
      found.push(problem('name_unkept', [...at, 'headers', name], message, 'use it in the path or in the body'))
    }
  return found
}
