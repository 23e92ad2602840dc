import type { Test } from 'tap'
import { prepareSite, runTollgate } from './child.ts'
import { picture } from './pictures.ts'
import { startUpstream } from './upstream.ts'

/** A gateway in a process of its own, and a function that runs commands next to it. */
export async function openOperated(t: Test) {
  const folder = t.testdir()
  const upstream = await startUpstream({ created: 1, data: [picture(1024, 1024)] })
  t.teardown(() => upstream.close())
  const site = await prepareSite(folder, { upstreams: { alpha: upstream.url } })
  const gateway = site.start()
  t.teardown(() => gateway.kill())
  const url = await gateway.ready
  const ops = (await gateway.ops).replace('http://', '')
  const tollgate = (...words: readonly string[]) =>
    runTollgate(site, [...words, '-c', site.config], {
      TOLLGATE_OPS: ops,
      TOLLGATE_LISTEN: url.replace('http://', ''),
      ALPHA_URL: upstream.url,
    })
  return { site, gateway, url, ops: `http://${ops}`, upstream, tollgate }
}
