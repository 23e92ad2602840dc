import { spawn } from 'node:child_process'
import { answering, freePort, type Site } from './targets.ts'

/** A local Redis without persistence that ends with the site. @throws Error if none is installed */
export async function startRedis(site: Pick<Site, 'stop'>): Promise<{ readonly url: string; readonly pid: number }> {
  const port = await freePort()
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--daemonize', 'no']
  const redis = spawn('redis-server', args, { stdio: 'ignore', signal: site.stop.signal })
  redis.on('error', () => undefined)
  if (redis.pid === undefined) throw new Error('redis-server is not installed')
  await answering(port)
  return { url: `redis://127.0.0.1:${port}`, pid: redis.pid }
}
