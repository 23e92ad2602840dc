import { setTimeout as sleep } from 'node:timers/promises'
import { type Fleet, openFleet, replicas } from './fleet.ts'
import type { Life } from './load.ts'
import { runScript } from './run-script.ts'
import { newSeed } from '../harness/seed.ts'

/** The number of repetitions, and the number of seconds after which none is started. */
export type Extent = { readonly times: number; readonly secondsMax: number }
/** `true`: the test waits for a lease. `false`: it expires the lease in the database, when it cannot wait. */
type Patience = { readonly isPatient: boolean }

/** `openSecondsMost`: the longest time that a charge of an ended gateway stayed open. */
export type LeaseFigures = { readonly faults: number; readonly openSecondsMost: number }

/**
 * Repeatedly kills one of the gateways under load; the others continue, and end its open charges.
 */
export async function killReplicas(fleet: Fleet, extent: Extent & Patience): Promise<LeaseFigures> {
  const watch = watchOpen(fleet, life => life.killedAt)
  const faults = await repeat(extent, async () => {
    await fleet.answers(0)
    await sleep(fleet.random() * 400)
    await fleet.kill(Math.floor(fleet.random() * replicas))
  })
  await allEnded(fleet, extent, life => life.killedAt !== undefined)
  await fleet.answers(performance.now())
  return { faults, openSecondsMost: await watch.stop() }
}

/**
 * Freezes one of the gateways under load until the others have ended its charges, and resumes it: it detects that it no
 * longer owns them, delivers none of them, and continues with new ones.
 */
export async function freezeReplicas(fleet: Fleet, extent: Extent & Patience): Promise<LeaseFigures> {
  const frozen = new Map<Life, number>()
  const watch = watchOpen(fleet, life => frozen.get(life))
  const faults = await repeat(extent, async () => {
    await fleet.answers(performance.now())
    const at = Math.floor(fleet.random() * replicas)
    const life = (await fleet.lives())[at]
    if (!life) return
    const isFrozen = (one: Life): boolean => one === life
    // With requests in progress: otherwise there is nothing to lose.
    await fleet.until(async () => (await fleet.openOf(isFrozen)).length > 0)
    life.isExcused = true
    fleet.signal(at, 'SIGSTOP')
    frozen.set(life, performance.now())
    const lost = await allEnded(fleet, extent, isFrozen)
    frozen.delete(life)
    const thawed = performance.now()
    fleet.signal(at, 'SIGCONT')
    if (lost) await fleet.hears(at, /silent for longer than its lease/)
    await fleet.answers(thawed)
  })
  return { faults, openSecondsMost: await watch.stop() }
}

/**
 * Crashes the database under load; `recoverySecondsMost`: the time from its restart until every gateway has sent a
 * complete answer.
 */
export async function crashDatabase(fleet: Fleet, extent: Extent) {
  let recoveryMs = 0
  const faults = await repeat(extent, async () => {
    await fleet.answers(performance.now())
    for (const life of await fleet.lives()) life.isExcused = true
    await sleep(fleet.random() * 500)
    await fleet.postgres.stop('immediate')
    await sleep(fleet.random() * 1_500)
    await fleet.postgres.start()
    const up = performance.now()
    await fleet.answers(up)
    recoveryMs = Math.max(recoveryMs, performance.now() - up)
  })
  return { faults, recoverySecondsMost: inSeconds(recoveryMs) }
}

/** Makes the database refuse every twentieth write like a conflict; `faults`: the number of refused writes. */
export async function injectConflicts(fleet: Fleet, extent: Extent): Promise<{ readonly faults: number }> {
  await fleet.look(`CREATE SEQUENCE injected;
    CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF random() < 0.05 AND nextval('injected') > 0 THEN
        IF random() < 0.5 THEN RAISE EXCEPTION 'injected' USING ERRCODE = '40001'; END IF;
        RAISE EXCEPTION 'injected' USING ERRCODE = '40P01';
      END IF;
      RETURN NEW; END $$`)
  const events = { charge: 'INSERT OR UPDATE', line: 'INSERT', entry: 'INSERT', key: 'UPDATE' }
  for (const [table, event] of Object.entries(events))
    await fleet.look(`CREATE TRIGGER conflict BEFORE ${event} ON ${table} FOR EACH ROW EXECUTE FUNCTION conflict()`)
  let faults = 0
  const end = performance.now() + extent.secondsMax * 1_000
  await fleet.until(async () => {
    const [row] = await fleet.look('SELECT last_value FROM injected')
    faults = Number(row?.['last_value'])
    return faults >= extent.times || performance.now() > end
  })
  for (const table of Object.keys(events)) await fleet.look(`DROP TRIGGER conflict ON ${table}`)
  await fleet.answers(performance.now())
  return { faults }
}

async function repeat({ times, secondsMax }: Extent, once: () => Promise<void>): Promise<number> {
  const end = performance.now() + secondsMax * 1_000
  let done = 0
  for (; done < times && performance.now() < end; done++) await once()
  return done
}

/** Waits until none of these gateways' charges is open. @returns whether any was */
async function allEnded(fleet: Fleet, { isPatient }: Patience, of: (life: Life) => boolean): Promise<boolean> {
  let some = false
  await fleet.until(async () => {
    const open = await fleet.openOf(of)
    some ||= open.length > 0
    if (!isPatient) await fleet.lapse(open)
    if (open.length > 0) await sleep(100)
    return open.length === 0
  })
  return some
}

/** Measures once per second how long charges of an ended gateway have been open. */
function watchOpen(fleet: Fleet, goneSince: (life: Life) => number | undefined) {
  const over = new AbortController()
  let mostMs = 0
  const watching = (async () => {
    while (!over.signal.aborted) {
      const now = performance.now()
      for (const { life } of await fleet.openOf(one => goneSince(one) !== undefined))
        mostMs = Math.max(mostMs, now - (goneSince(life) ?? now))
      await sleep(1_000)
    }
  })()
  watching.catch(() => undefined)
  return {
    async stop() {
      over.abort()
      await watching
      return inSeconds(mostMs)
    },
  }
}

function inSeconds(ms: number): number {
  return Math.round(ms / 100) / 10
}

// `node test/faults/replicas.ts kill|freeze|crash|conflict TIMES [SECONDS]`: one JSON object to standard output; a
// broken promise is exit 1.
if (import.meta.main) {
  const [what = 'kill', times = '50', secondsMax = '3600'] = process.argv.slice(2)
  const extent = { times: Number(times), secondsMax: Number(secondsMax), isPatient: true }
  const faults = { kill: killReplicas, freeze: freezeReplicas, crash: crashDatabase, conflict: injectConflicts }
  const run = faults[what as keyof typeof faults]
  await runScript(async t => {
    const fleet = await openFleet(t, { seed: Number(process.env['SEED'] ?? newSeed()) })
    const figures: { faults: number; openSecondsMost?: number; recoverySecondsMost?: number } = await run(fleet, extent)
    const { violations, ...sums } = await fleet.finish()
    const { openSecondsMost = 0, recoverySecondsMost = 0 } = figures
    const late = [
      ...(openSecondsMost > 60 ? [`a charge stayed open for ${openSecondsMost} s after its gateway was gone`] : []),
      ...(recoverySecondsMost > 5 ? [`work went on ${recoverySecondsMost} s after the database was up`] : []),
    ]
    return { ...figures, ...sums, violations: [...violations, ...late] }
  })
}
