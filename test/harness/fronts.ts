import { execFileSync, spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { parse } from 'yaml'
import { makeCertificate, opensslMissing } from './certificates.ts'
import { onFreePort } from './free-port.ts'
import { aroundServers, type Front, nginxMissing, replace, startFront, startNginx } from './nginx.ts'
import { readBlocks } from './project.ts'
import { frontFolder, runFront } from './run-front.ts'

type T = Pick<Test, 'teardown'>

/** A proxy with a shipped configuration, or with one by an operator who has not read the documentation. */
export type Proxy = {
  readonly name: string
  /** Why it cannot run here; false when it can. */
  missing(): string | false
  start(t: T, server: string): Promise<Front & { readonly ca?: Buffer; readonly h2?: true }>
  /** What it forwards about the request: the client's address and the host, the host, or nothing. */
  readonly tells: 'all' | 'host' | 'nothing'
}

export const composeNginx: Proxy = {
  name: 'nginx of deploy/compose',
  missing: nginxMissing,
  start: (t, server) => startFront(t, [server]),
  tells: 'all',
}

export const recipeNginx: Proxy = {
  name: 'nginx of docs/recipes',
  missing: () => nginxMissing() || opensslMissing(),
  async start(t, server) {
    const [block = ''] = await readBlocks('recipes/behind-nginx.md', 'nginx')
    const { cert, key, ca } = await makeCertificate(await frontFolder(t), 'front')
    const front = await startNginx(t, 'https', place => {
      let text = replace(block, 'server 127.0.0.1:8080;', `server ${new URL(server).host};`)
      text = replace(text, 'listen 443 ssl http2;', `listen 127.0.0.1:${place.port} ssl http2;`)
      text = replace(text, '/etc/ssl/ai.example.com.pem', cert)
      return aroundServers(place, replace(text, '/etc/ssl/ai.example.com.key', key))
    })
    return { ...front, ca, h2: true }
  },
  tells: 'all',
}

/** The result of a controller for the ingress in a file: its own defaults, and the annotations. */
export const ingress = (file: string, at: (yaml: unknown) => unknown): Proxy => ({
  name: `ingress-nginx by ${file}`,
  missing: () => nginxMissing() || opensslMissing(),
  async start(t, server) {
    const yaml: unknown = parse(await readFile(new URL(`../../${file}`, import.meta.url), 'utf8'))
    const annotations = at(yaml) as { readonly [name: string]: string }
    const seconds = (name: string): string => `${annotations[`nginx.ingress.kubernetes.io/${name}`]}s`
    const word = (name: string): string => annotations[`nginx.ingress.kubernetes.io/${name}`] ?? ''
    const { cert, key, ca } = await makeCertificate(await frontFolder(t), 'ingress')
    const front = await startNginx(t, 'https', place =>
      aroundServers(
        place,
        `upstream pods { server ${new URL(server).host}; keepalive 320; }
        server {
          listen 127.0.0.1:${place.port} ssl http2; ssl_certificate ${cert}; ssl_certificate_key ${key};
          location / {
            client_max_body_size ${word('proxy-body-size')};
            proxy_set_header Host $http_host; proxy_set_header X-Request-ID $request_id;
            proxy_set_header X-Real-IP $remote_addr; proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header X-Forwarded-Host $http_host; proxy_set_header X-Forwarded-Port 443;
            proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Forwarded-Scheme $scheme;
            proxy_set_header X-Scheme $scheme; proxy_set_header Connection "";
            proxy_connect_timeout ${seconds('proxy-connect-timeout')}; proxy_send_timeout ${seconds('proxy-send-timeout')};
            proxy_read_timeout ${seconds('proxy-read-timeout')}; proxy_buffering ${word('proxy-buffering')};
            proxy_request_buffering ${word('proxy-request-buffering')}; proxy_http_version 1.1;
            proxy_next_upstream ${word('proxy-next-upstream')}; proxy_next_upstream_tries 3; proxy_pass http://pods;
          }
        }`,
      ),
    )
    return { ...front, ca, h2: true }
  },
  tells: 'all',
})

export const haproxy: Proxy = {
  name: 'HAProxy of docs/recipes',
  missing: () => (spawnSync('haproxy', ['-v']).error ? 'haproxy is not installed' : opensslMissing()),
  async start(t, server) {
    const [block = ''] = await readBlocks('recipes/behind-haproxy.md', 'haproxy')
    const folder = await frontFolder(t)
    const { cert, key, ca } = await makeCertificate(folder, 'front')
    const both = join(folder, 'both.pem')
    await writeFile(both, `${await readFile(cert, 'utf8')}${await readFile(key, 'utf8')}`)
    const file = join(folder, 'haproxy.cfg')
    return onFreePort(async port => {
      let text = replace(block, 'bind :443', `bind 127.0.0.1:${port}`)
      text = replace(text, '/etc/haproxy/ai.example.com.pem', both)
      await writeFile(file, replace(text, 'server one 127.0.0.1:8080', `server one ${new URL(server).host}`))
      execFileSync('haproxy', ['-c', '-q', '-f', file])
      await runFront(t, port, 'haproxy', ['-db', '-q', '-f', file])
      return { url: `https://127.0.0.1:${port}`, ca, h2: true, errors: async () => '' } as const
    })
  },
  tells: 'all',
}

export const caddy: Proxy = {
  name: 'Caddy of docs/recipes',
  missing: () => (spawnSync('caddy', ['version']).error ? 'caddy is not installed' : opensslMissing()),
  async start(t, server) {
    const [block = ''] = await readBlocks('recipes/behind-caddy.md', 'caddyfile')
    const folder = await frontFolder(t)
    const { cert, key, ca } = await makeCertificate(folder, 'front')
    const file = join(folder, 'Caddyfile')
    return onFreePort(async port => {
      const own = `{\n\tadmin off\n\tauto_https disable_redirects\n\tstorage file_system ${folder}\n}\n`
      let text = replace(
        block,
        'ai.example.com {',
        `https://127.0.0.1:${port} {\n\tbind 127.0.0.1\n\ttls ${cert} ${key}`,
      )
      text = replace(text, '127.0.0.1:8080', new URL(server).host)
      await writeFile(file, own + text)
      await runFront(t, port, 'caddy', ['run', '--config', file, '--adapter', 'caddyfile'])
      return { url: `https://127.0.0.1:${port}`, ca, h2: true, errors: async () => '' } as const
    })
  },
  tells: 'all',
}

const written = (name: string, tells: Proxy['tells'], lines: string): Proxy => ({
  name,
  missing: nginxMissing,
  start: (t, server) =>
    startNginx(t, 'http', place =>
      aroundServers(
        place,
        `upstream gateway { server ${new URL(server).host}; keepalive 8; }
        server { listen 127.0.0.1:${place.port}; client_max_body_size 33m; location / { proxy_pass http://gateway; ${lines} } }`,
      ),
    ),
  tells,
})

/** Proxies that forward nothing, with a configuration by an operator who has not read the documentation. */
export const bareProxies: readonly Proxy[] = [
  written('nginx as it comes, buffering', 'nothing', ''),
  written(
    'nginx with HTTP/1.1 and nothing told',
    'host',
    'proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;',
  ),
]

/** Every proxy with a configuration that is shipped or documented. */
export const shippedProxies: readonly Proxy[] = [
  composeNginx,
  recipeNginx,
  ingress(
    'deploy/kubernetes/ingress.yaml',
    yaml => (yaml as { metadata: { annotations: unknown } }).metadata.annotations,
  ),
  ingress(
    'deploy/helm/tollgate/values.yaml',
    yaml => (yaml as { ingress: { annotations: unknown } }).ingress.annotations,
  ),
  haproxy,
  caddy,
]
