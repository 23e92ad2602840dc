'use strict'

// Who may import whom, and the one place that each third-party package may be named in.
// `npm run check:imports` runs this; test/house/imports.test.ts runs it too and proves that each rule catches a slip.

/** What every folder of src may import: helpers, the types and rules of the business, and what plugins see. */
const shared = '^src/(?:util|domain|plugin-api)/'

/** Folders of src that may import the shared ones, their own, and nothing else of ours. */
const islands = [
  'engine',
  'config',
  'operations',
  'api-formats',
  'tools/import',
  'tools/prices',
  'storage',
  'observe',
  'admin',
  'simulator',
  'events',
  'pricing',
  'guardrails',
]

const operations = '^src/operations/index[.]ts$'
/** The other door that some of them have: what is said of operations, and what reads bodies. */
const doors = {
  'api-formats': [operations],
  observe: [operations],
  admin: [operations],
  'tools/import': ['^src/tools/prices/index[.]ts$'],
  engine: ['^src/wire/index[.]ts$'],
  guardrails: ['^src/wire/index[.]ts$'],
}

/** Package → the one place that may name it. */
const homes = {
  '@clack/prompts': '^src/cli/ask-setup[.]ts$',
  aws4fetch: '^plugins/aws-sigv4/plugin[.]ts$',
  ajv: '^src/(?:config/(?:validator|compile-schemas)|admin/request-validators)[.]ts$',
  busboy: '^plugins/multipart-rewrite/read-form[.]ts$',
  commander: '^src/cli/',
  diff: '^src/config/edit/show-diff[.]ts$',
  'fastest-levenshtein': '^src/config/',
  fastify: '^src/admin/server[.]ts$',
  re2js: '^plugins/guard-patterns/compile[.]ts$',
  'http-proxy-3': '^src/engine/transport[.]ts$',
  'image-size': '^plugins/image-tier-billing/measure[.]ts$',
  ioredis: '^src/storage/counters/redis/connect[.]ts$',
  jose: '^plugins/(?:google-token|jwt-hs256)/plugin[.]ts$',
  'json-schema-to-ts': '^src/util/schema[.]ts$',
  kysely: '^src/storage/',
  'lru-cache':
    '^(?:plugins/(?:answer-cache|auth|token-usage)/|src/observe/otlp/telemetry[.]ts$|src/storage/create-labels)',
  pino: '^src/observe/log[.]ts$',
  'openid-client': '^src/admin/sign-in/issuers[.]ts$',
  nodemailer: '^src/events/mail[.]ts$',
  pg: '^src/storage/postgres/',
  'prom-client': '^src/observe/metrics[.]ts$',
  socks: '^src/util/proxy/open-tunnel[.]ts$',
  undici: '^src/gateway/use-environment-proxy[.]ts$',
  ws: '^src/(?:simulator/realtime/serve|engine/sessions/message-socket)[.]ts$',
  yaml: '^src/config/load[.]ts$',
}

const ours = '^(?:src|plugins|test|bench)/'
const refuse = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to })

module.exports = {
  forbidden: [
    refuse(
      'util-imports-nothing-of-ours',
      'Helpers know nothing of what they help with.',
      { path: '^src/util/' },
      { path: ours, pathNot: '^src/util/' },
    ),
    refuse(
      'domain-imports-only-util',
      'Keys, users, budgets and charges are what everything else is about.',
      { path: '^src/domain/' },
      { path: ours, pathNot: ['^src/domain/', '^src/util/'] },
    ),
    refuse(
      'plugin-api-imports-only-domain',
      'What plugins see depends on the domain, and on nothing that runs.',
      { path: '^src/plugin-api/' },
      { path: ours, pathNot: ['^src/plugin-api/', '^src/domain/', '^src/util/'] },
    ),
    refuse(
      'wire-imports-only-types',
      'Readers know bytes. Of the shared folders they may know types, which are gone when they run.',
      { path: '^src/wire/' },
      { path: ours, pathNot: ['^src/wire/', shared] },
    ),
    refuse(
      'wire-runs-only-itself',
      'Readers know bytes. Of the shared folders they may know types, which are gone when they run.',
      { path: '^src/wire/' },
      { path: shared, dependencyTypesNot: ['type-only'] },
    ),
    ...islands.map(name =>
      refuse(
        `${name.replace('/', '-')}-imports-only-shared-folders`,
        'Parts meet in src/gateway, not in one another.',
        { path: `^src/${name}/` },
        {
          path: ours,
          pathNot: [shared, `^src/${name}/`, ...(doors[name] ?? [])],
        },
      ),
    ),
    refuse(
      'plugin-imports-only-the-plugin-api',
      'A plugin imports src/plugin-api/index.ts, src/wire/index.ts to read bodies, src/pricing/index.ts to rate what was used, and src/guardrails/index.ts to check texts. Plugins speak to one another through slots.',
      { path: '^plugins/([^/]+)/' },
      {
        path: ours,
        pathNot: ['^src/(?:plugin-api|wire|pricing|guardrails)/index[.]ts$', '^plugins/$1/'],
      },
    ),
    refuse(
      'plugin-list-imports-only-plugins',
      'plugins/index.ts is a list.',
      { path: '^plugins/index[.]ts$' },
      { path: ours, pathNot: ['^src/plugin-api/index[.]ts$', '^plugins/[^/]+/plugin[.]ts$'] },
    ),
    refuse(
      'cli-imports-the-library-door',
      'The command line is a client of the library: whatever it can do, an embedder can do.',
      { path: '^src/cli/' },
      { path: ours, pathNot: ['^src/index[.]ts$', '^src/cli/'] },
    ),
    refuse(
      'only-the-composition-imports-plugins',
      'Plugins are asked through the plan. One file knows which come with the gateway, and it knows no more than their list.',
      { path: '^src/' },
      { path: '^plugins/', pathNot: '^plugins/index[.]ts$' },
    ),
    refuse(
      'only-the-finder-imports-the-list',
      'Who needs the plugins that come with the gateway asks src/gateway/plugin-finder.ts.',
      { path: '^src/', pathNot: '^src/gateway/plugin-finder[.]ts$' },
      { path: '^plugins/index[.]ts$' },
    ),
    refuse(
      'gateway-knows-no-tool',
      'What runs does not need what looks at configurations beside it.',
      { path: '^src/gateway/' },
      { path: '^src/(?:tools|cli)/' },
    ),
    refuse(
      'one-loose-file',
      'src has rooms and a door: a file that is none of them belongs into one.',
      { path: '^src/[^/]+[.]ts$', pathNot: '^src/index[.]ts$' },
      {},
    ),
    refuse(
      'product-never-imports-tests',
      'Tests may go; the product stays.',
      { path: '^(?:src|plugins)/' },
      {
        path: '^(?:test|bench)/',
      },
    ),
    ...Object.entries(homes).map(([name, home]) =>
      refuse(
        `one-home-for-${name}`,
        `Only ${home} names ${name}.`,
        { path: '^(?:src|plugins)/', pathNot: home },
        {
          path: `(?:^|/)node_modules/${name}/`,
        },
      ),
    ),
    refuse(
      'packages-have-a-home',
      'A third-party package is listed in .dependency-cruiser.cjs with the one file that names it.',
      { path: '^(?:src|plugins)/' },
      {
        path: '(?:^|/)node_modules/',
        pathNot: Object.keys(homes).map(name => `(?:^|/)node_modules/${name}/`),
      },
    ),
    refuse(
      'no-dev-packages',
      'What ships may only use what is installed with it.',
      { path: '^(?:src|plugins)/' },
      {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
      },
    ),
    refuse('resolvable', 'A specifier that leads nowhere.', { path: '^(?:src|plugins)/' }, { couldNotResolve: true }),
    refuse(
      'no-cycles',
      'Two files that need each other are one file, or three.',
      { path: '^(?:src|plugins)/' },
      { circular: true },
    ),
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^src/console/' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.js', '.cjs'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
    },
  },
}
