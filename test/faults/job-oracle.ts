import type { JobOrder, Work } from './job-order.ts'
import type { Look } from './oracle.ts'

/**
 * The vendor's results and what callers received, compared with what was billed. Counts are of images unless stated
 * otherwise.
 */
export type JobSums = {
  readonly requests: number
  readonly jobs: number
  readonly produced: number
  readonly delivered: number
  readonly billed: number
  readonly unbilled: number
  readonly double: number
  readonly phantom: number
  /** Running jobs and reserved charges after all work has ended. */
  readonly stuck: number
  /** Charges in review of requests whose work was accepted but not recorded: their result cannot be known. */
  readonly unwritten: number
  /** Charges in review of jobs that exceeded their time limit. */
  readonly late: number
  /** Charges in review of requests without jobs that were killed before their first image was recorded. */
  readonly cut: number
  readonly violations: readonly string[]
}

type Row = { readonly [column: string]: unknown }

/** Charges that no process works on, even while gateways run. */
export async function readLeft(look: Look): Promise<readonly string[]> {
  const alone = await look(`SELECT id FROM charge WHERE state = 'reserved'
    AND NOT EXISTS (SELECT 1 FROM job WHERE job.id = charge.id AND job.state = 'running')`)
  return alone.map(({ id }) => `charge ${String(id)} is reserved, and no job runs`)
}

/** Work still in progress. */
export async function readRunning(look: Look): Promise<number> {
  const [jobs] = await look(`SELECT count(*) AS n FROM job WHERE state = 'running'`)
  const [charges] = await look(`SELECT count(*) AS n FROM charge WHERE state = 'reserved'`)
  return Number(jobs?.['n']) + Number(charges?.['n'])
}

/** The ids of jobs with an answer, with the numbers of their orders. */
export async function readAnswered(look: Look): Promise<readonly { readonly id: string; readonly order: number }[]> {
  const rows = await look(
    `SELECT job.id, charge.quality FROM job JOIN charge ON charge.id = job.id WHERE job.body IS NOT NULL`,
  )
  return rows.map(row => ({ id: String(row['id']), order: Number(row['quality']) }))
}

export async function compareJobs(
  orders: readonly JobOrder[],
  works: ReadonlyMap<string, Work>,
  look: Look,
): Promise<JobSums> {
  const charges = Map.groupBy(await look('SELECT * FROM charge'), row => Number(row['quality']))
  const lines = Map.groupBy(await look('SELECT * FROM line'), row => String(row['charge_id']))
  const jobs = new Map((await look('SELECT * FROM job')).map(row => [String(row['id']), row]))
  const [held] = await look('SELECT sum(held) AS n FROM key')
  const stuck = await readRunning(look)
  const violations: string[] = []
  if (stuck > 0 || Number(held?.['n']) !== 0) violations.push(`${stuck} stuck, ${Number(held?.['n'])} micro-units held`)
  const sum = {
    produced: 0,
    delivered: 0,
    billed: 0,
    unbilled: 0,
    double: 0,
    phantom: 0,
    unwritten: 0,
    late: 0,
    cut: 0,
  }
  for (const order of orders) {
    const own = charges.get(order.number) ?? []
    const billed = own.flatMap(({ id }) => lines.get(String(id)) ?? []).map(markOf)
    const once = new Set(billed)
    const unbilled = [...order.delivered].filter(mark => !once.has(mark)).length
    const double = billed.length - once.size + Math.max(0, own.length - 1)
    const phantom = [...once].filter(mark => !order.produced.has(mark)).length
    sum.produced += order.produced.size
    sum.delivered += order.delivered.size
    sum.billed += billed.length
    sum.unbilled += unbilled
    sum.double += double
    sum.phantom += phantom
    const faults = unbilled + double + phantom > 0 ? [`${unbilled} unbilled, ${double} double, ${phantom} phantom`] : []
    const [charge] = own
    if (charge) {
      const row = jobs.get(String(charge['id']))
      // A gateway that was frozen before the row was written has lost its charge by then: the work was not recorded.
      const job = row && Number(charge['ended_at'] ?? Infinity) < Number(row['created_at']) ? undefined : row
      if (charge['state'] === 'needs_review') sum[whyReviewed(order, charge, job, faults)]++
      if (job) faults.push(...judgeJob(job, charge, once, works))
    }
    violations.push(
      ...faults.map(text => `request ${order.number} (${order.model}, n ${order.images}, ${order.answered}): ${text}`),
    )
  }
  return { ...sum, requests: orders.length, jobs: jobs.size, stuck, violations }
}

function whyReviewed(
  order: JobOrder,
  charge: Row,
  job: Row | undefined,
  faults: string[],
): 'unwritten' | 'late' | 'cut' {
  const reason = textOf(charge['reason'])
  if (reason === '') faults.push('in review without a reason')
  if (job) {
    if (!order.works.some(work => work.fate === 'endless' || work.doneAt > Number(job['deadline_at'])))
      faults.push(`in review (${reason}) although the vendor has ended its job`)
    return 'late'
  }
  if (order.life.killedAt === undefined && !order.life.isExcused)
    faults.push(`in review (${reason}) although nobody was killed`)
  return order.works.length > 0 ? 'unwritten' : 'cut'
}

/** A job must end as the vendor reports. */
function judgeJob(job: Row, charge: Row, billed: ReadonlySet<string>, works: ReadonlyMap<string, Work>): string[] {
  const reported = JSON.parse(String(job['told'])) as readonly { id: string }[]
  const own = reported.flatMap(({ id }) => works.get(id) ?? [])
  const made = own.filter(work => work.fate === 'done').flatMap(work => work.marks)
  const [state, paid] = [String(job['state']), String(charge['state'])]
  const isLate = own.some(work => work.doneAt > Number(job['deadline_at']))
  const stand = `job ${state}, charge ${paid} (${textOf(charge['reason'])})`
  // If some pictures were delivered and the vendor has forgotten others, the pictures cannot be told apart.
  const isUnsure = own.some(work => work.fate === 'forgotten') && paid === 'settled'
  if (isLate || isUnsure || state === 'running') return []
  const missing = made.filter(mark => !billed.has(mark)).length
  if (made.length > 0 && (state !== 'done' || paid !== 'settled'))
    return [`the vendor has made ${made.length}: ${stand}`]
  if (missing > 0) return [`${missing} of ${made.length} that the vendor made are not billed: ${stand}`]
  return []
}

function textOf(cell: unknown): string {
  return typeof cell === 'string' ? cell : ''
}

function markOf(line: Row): string {
  return line['width'] === null ? 'link' : `${Number(line['width'])}x${Number(line['height'])}`
}
