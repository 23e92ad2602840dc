import { type Plan, type Upstream, upstreamKeyView } from '../../kit/index.ts'
import { upstreamsAnswer } from '../answers.ts'
import { type Ask, defineRoute } from '../api.ts'

/** An upstream as the console shows it, with its keys where it has several. */
function upstreamRecord({ parts }: Ask, upstream: Upstream) {
  const { name, url, keys } = upstream
  const simulated = new Set(parts.facts.simulated())
  const reports = parts.upstreams.report(upstream)
  return {
    name,
    simulated: simulated.has(url.replace(/^simulator:/, '')),
    healthy: parts.facts.upstreamHealthy(name),
    resting_ms: Math.ceil(parts.upstreams.restMs(name)),
    models: modelsOn(parts.plan(), name),
    keys_asked: keys ? reports.filter(({ isAsked }) => isAsked).length : null,
    keys: reports.map(upstreamKeyView.show),
  }
}

function modelsOn({ models }: Plan, name: string): readonly string[] {
  return [...models.values()]
    .filter(one => one.upstreams.some(({ upstream }) => upstream.name === name))
    .map(one => one.name)
}

export const upstreamRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/upstreams',
    access: 'operators',
    summary: 'The upstreams, and how each of their keys stands: why it is not asked, since when and until when.',
    answer: upstreamsAnswer,
    async handle(ask) {
      const { parts } = ask
      // What others have decided a moment ago.
      await parts.upstreams.learn()
      const { currency, upstreams } = parts.plan()
      return { currency, upstreams: [...upstreams.values()].map(one => upstreamRecord(ask, one)) }
    },
  }),
]
