import { Argument, Command, InvalidArgumentError, Option } from 'commander'
import { say } from './exit.ts'
import { parseFields } from './parse-fields.ts'

const version = 'version'

/** Groupings of `usage`. */
export const usageSorts = ['day', 'user', 'end_user', 'tag', 'group', 'key', 'model', 'tier', 'upstream'] as const

/** The outcomes of a request. Copied here, so that `version` does not load the library. A test compares the two. */
export const outcomes = ['answered', 'refused', 'caller_gone', 'upstream_cut', 'deadline'] as const

/** The results of a request for its caller. Copied for the same reason. */
export const results = [
  'succeeded',
  'failed',
  'refused',
  'caller_gone',
  'upstream_cut',
  'deadline',
  'unsuccessful',
] as const

/** Sources of price tables. Copied for the same reason. */
export const priceSources = ['litellm', 'openrouter', 'new-api'] as const

/** The whole command line. Each command's code is loaded when it runs, so that `version` loads no database. */
export function createProgram(): Command {
  const program = new Command('tollgate')
    .description('A gateway in front of AI models: keys, limits, native streaming, and bills that explain themselves.')
    .helpCommand('help [command]', 'print the help of a command')

  program
    .command('serve')
    .description('run the gateway')
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .action(async options => (await import('./commands/serve.ts')).serve(options))

  program
    .command('check')
    .argument('[file]', 'the configuration, as with -c')
    .description('validate a configuration without starting the gateway; exit 3 if it is invalid')
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .option('--strict', 'treat warnings as errors', false)
    .addOption(formatOption(['text', 'json', 'github', 'sarif']))
    .action(async (file: string | undefined, options) =>
      (await import('./commands/check.ts')).check(file ?? options.config, options),
    )
  addInitCommands(program)
  addConfigurationCommands(program)
  addImport(program)
  addPrices(program)
  addRunningCommands(program)
  addExplain(program)
  addKeys(program)
  addUsers(program)
  addAdminTokens(program)
  addBudgets(program)
  addUpstreams(program)
  addObjects(program)
  addSessions(program)
  addCache(program)
  addLogs(program)
  addLedger(program)
  addEvents(program)

  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .description('print shell completion for commands, flags and configuration keys')
    .action(async (shell, options) =>
      (await import('./commands/completion.ts')).printCompletion(shell, program, options),
    )
  program
    .command('schema')
    .description("print the configuration's JSON Schema")
    .action(async () => (await import('./commands/schema.ts')).printSchema())
  program
    .command(version)
    .description('print the version')
    .action(async options => (await import('./commands/version.ts')).printVersion(options))

  for (const { command, name } of everyCommand(program, 'tollgate')) {
    command.exitOverride().showHelpAfterError(`(see ${name} --help)`)
    command.configureOutput({ writeErr: text => say(text.trimEnd(), 'error') })
    if (command.commands.length === 0 && !command.options.some(({ long }) => long === '--format'))
      command.addOption(formatOption(['text', 'json']))
  }
  return program
}

/** Explanations of future and past requests. */
function addExplain(program: Command): void {
  const explain = program.command('explain').description('explain what a request would do or did, and what it costs')
  explain
    .command('image')
    .description('what an image request would forward, return and cost')
    .option('--model <name>', 'the model (required)')
    .hook('preAction', needs('model'))
    .option('--size <size>', 'the requested size, as a client sends it')
    .option('--n <count>', 'number of images', parseCount, 1)
    .option('--quality <quality>', 'the requested quality')
    .option('--fields <json>', 'more fields of the request, as a JSON object', parseFields)
    .option('--group <name>', 'the group of the caller, for its aliases and multiplier')
    .option('--edit', 'an image edit instead of a generation', false)
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/explain.ts')).explainImage(options))
  explain
    .command('chat')
    .description('what a chat request would forward, reserve and cost')
    .option('--model <name>', 'the model (required)')
    .hook('preAction', needs('model'))
    .option('--message <text>', 'the text of the message', 'Hello!')
    .option('--body <file>', 'a JSON request body to use instead of --message; - for standard input')
    .option('--max-tokens <count>', 'maximum length of the response', parseCount)
    .option('--input-tokens <count>', 'estimate the cost for this many input tokens', parseCount)
    .option('--output-tokens <count>', 'estimate the cost for this many output tokens', parseCount)
    .option('--group <name>', 'the group of the caller, for its aliases and multiplier')
    .option('--operation <name>', "the operation; the model's first by default")
    .option('--fields <json>', 'more fields of the request, as a JSON object', parseFields)
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/explain.ts')).explainChat(options))
  explain
    .command('request')
    .description('what any request would forward and cost, as far as a plugin can estimate it')
    .option('--model <name>', 'the model (required)')
    .hook('preAction', needs('model'))
    .option('--group <name>', 'the group of the caller, for its aliases and multiplier')
    .option('--operation <name>', "the operation, such as chat; the model's first by default")
    .option('--size <size>', 'the requested size, as a client sends it')
    .option('--n <count>', 'number of images', parseCount, 1)
    .option('--quality <quality>', 'the requested quality')
    .option('--fields <json>', 'more fields of the request, as a JSON object', parseFields)
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/explain.ts')).explainAny(options))
  explain
    .command('log')
    .argument('<id>', "the request's id")
    .description('why a request cost what it did')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async (id, options) => (await import('./commands/logs.ts')).showLog(id, options))
}

/** API keys. */
function addKeys(program: Command): void {
  const keys = program.command('keys').description('API keys')
  const create = keys
    .command('create')
    .description('create a key; its secret is shown once')
    .option('--name <name>', 'a name for the key (required)')
    .hook('preAction', needs('name'))
    .option('--user <user>', 'owner of the key', 'local')
  addSettings(create)
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/keys.ts')).createKey(options))
  keys
    .command('list')
    .description('list the keys')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/keys.ts')).listKeys(options))
  keys
    .command('show')
    .argument('<id>', "the key's id")
    .description('show everything about a key except its secret')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async (id, options) => (await import('./commands/keys.ts')).showKey(id, options))
  const update = keys
    .command('update')
    .argument('<id>', "the key's id")
    .description("change a key; 'none' removes a setting; running gateways apply it within a second")
    .option('--name <name>', 'a name for the key')
  addSettings(update)
    .addOption(configOption())
    .action(async (id, options) => (await import('./commands/keys.ts')).updateKey(id, options))
  keys
    .command('disable')
    .argument('<id>', "the key's id")
    .description('disable a key until it is enabled again')
    .addOption(configOption())
    .action(async (id, options) => (await import('./commands/keys.ts')).disableKey(id, options))
  keys
    .command('enable')
    .argument('<id>', "the key's id")
    .description('enable a disabled key')
    .addOption(configOption())
    .action(async (id, options) => (await import('./commands/keys.ts')).enableKey(id, options))
  keys
    .command('rotate')
    .argument('<id>', "the key's id")
    .description('create a new secret for a key; it is shown once')
    .option('--overlap <time>', 'how long the old secret stays valid', '24h')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async (id, options) => (await import('./commands/keys.ts')).rotateKey(id, options))
  keys
    .command('revoke')
    .argument('<id>', "the key's id")
    .description('revoke a key permanently; running gateways refuse it within a second')
    .addOption(configOption())
    .action(async (id, options) => (await import('./commands/keys.ts')).revokeKey(id, options))
}

/** Secrets of programs that administer the gateway. */
function addAdminTokens(program: Command): void {
  const tokens = program
    .command('admin-tokens')
    .description('admin tokens: programs use them for /api, as Authorization: Bearer')
  tokens
    .command('create')
    .description('create an admin token and print it; this is the only time it is shown')
    .requiredOption('--name <name>', 'what it is for; the audit log shows it')
    .requiredOption('--role <role>', 'viewer, billing or admin')
    .option('--scopes <scopes>', 'some of read, keys, people, money, config, separated by commas; absent: all')
    .option('--expires <when>', 'expiry: a date (2027-01-31, UTC) or a time from now (90d); absent: never')
    .option('--ips <addresses>', 'addresses and CIDR blocks it may be used from, separated by commas; absent: all')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/admin-tokens.ts')).createAdminToken(options))
  tokens
    .command('list')
    .description('list the valid admin tokens')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/admin-tokens.ts')).listAdminTokens(options))
  tokens
    .command('revoke')
    .argument('<id>', 'the id or the name of the token')
    .description('revoke an admin token; the next request with it is refused')
    .addOption(configOption())
    .action(async (id, options) => (await import('./commands/admin-tokens.ts')).revokeAdminToken(id, options))
}

/** Users. */
function addUsers(program: Command): void {
  const users = program.command('users').description('users, their roles, budgets and balances')
  users
    .command('create')
    .argument('<name>')
    .description('create a user; set the password with users passwd')
    .option('--group <group>', 'the group whose limits apply', 'default')
    .option('--role <role>', 'user, viewer, billing or admin', 'user')
    .addOption(configOption())
    .action(async (name, options) => (await import('./commands/users.ts')).createUser(name, options))
  users
    .command('list')
    .description('list the users, with group, role and status')
    .option('--search <text>', 'only users whose name or group contains this text')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/users.ts')).listUsers(options))
  users
    .command('set')
    .argument('<name>')
    .description('change a user; running gateways apply it within a second')
    .option('--group <group>', 'the group whose limits apply')
    .option('--role <role>', 'user, viewer, billing or admin')
    .option('--status <status>', 'active or disabled; all keys of a disabled user are refused')
    .option('--keys-max <count>', "how many keys the user may create; none for the group's limit")
    .option('--models <names>', "models that the user's keys may use, separated by commas (small-*); none for any")
    .option('--ips <addresses>', "addresses and CIDR blocks for the user's keys, separated by commas; none for any")
    .option('--rpm <count>', "the largest --rpm for the user's keys; none for any")
    .option('--tpm <count>', "the largest --tpm for the user's keys; none for any")
    .option('--concurrency <count>', "the largest --concurrency for the user's keys; none for any")
    .option('--budget <amount>', "the largest --budget for each of the user's keys; none for any")
    .option('--budget-period <period>', 'period of that budget: total, day, week, month, or days such as 7d')
    .option('--resets-on <day>', 'first day of that week or month: a weekday, or 1 to 28')
    .option('--expires <when>', "latest expiry of the user's keys: a date, a time from now such as 30d, or none")
    .addOption(configOption())
    .action(async (name, options) => (await import('./commands/users.ts')).setUser(name, options))
  users
    .command('budget')
    .argument('<name>')
    .description('set what all keys of a user may spend together; running gateways apply it within a second')
    .requiredOption('--amount <money>', "the amount; none for the group's budget per user")
    .option('--per <period>', 'period of the budget: total, day, week, month, or days such as 7d', 'total')
    .option('--resets-on <day>', 'first day of the week (a weekday, monday by default) or the month (1 to 28)')
    .option('--soft', 'only send threshold events; refuse no request', false)
    .addOption(configOption())
    .action(async (name, options) => (await import('./commands/users.ts')).setUserBudget(name, options))
  users
    .command('role')
    .argument('<name>')
    .argument('<role>', 'user, viewer, billing or admin')
    .description("change a user's role; this ends their sessions")
    .addOption(configOption())
    .action(async (name, role, options) => (await import('./commands/users.ts')).setUser(name, { ...options, role }))
  users
    .command('invite')
    .description('print a link with which one person can sign up once')
    .option('--name <name>', 'user name; absent: the person chooses it')
    .option('--role <role>', 'user, viewer, billing or admin', 'user')
    .option('--group <group>', 'the group whose limits apply', 'default')
    .option('--for <time>', 'how long the link is valid, at most 90d', '3d')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/invite.ts')).invite(options))
  users
    .command('invitations')
    .description('list the invitations that are still valid')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/invite.ts')).listInvitations(options))
  users
    .command('uninvite')
    .argument('<id>', "the invitation's id")
    .description('revoke an invitation')
    .addOption(configOption())
    .action(async (id, options) => (await import('./commands/invite.ts')).revokeInvitation(id, options))
  users
    .command('topup')
    .argument('<name>')
    .argument('<amount>')
    .description("add to a user's prepaid balance; their requests are then charged to it")
    .option('--note <text>', 'a note, such as the payment reference')
    .option('--paid-in <money>', 'expected total of earlier top-ups; if it differs, nothing is added')
    .addOption(configOption())
    .action(async (name, amount, options) => (await import('./commands/budgets.ts')).topUp(name, amount, options))
  users
    .command('balance')
    .argument('<name>')
    .description("show a user's payments and the remaining balance")
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async (name, options) => (await import('./commands/budgets.ts')).showBalance(name, options))
  addErasing(users)
  users
    .command('passwd')
    .argument('<name>')
    .description("set a user's password, read from standard input")
    .addOption(configOption())
    .action(async (name, options) => (await import('./commands/users.ts')).setPassword(name, options))
}

/** Upstreams and their keys. */
function addUpstreams(program: Command): void {
  const upstreams = program.command('upstreams').description('upstreams and their keys')
  upstreams
    .command('list')
    .description('show every upstream and its keys, with the status and the reason')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/upstreams.ts')).listUpstreams(options))
  upstreams
    .command('suspend')
    .argument('<upstream>')
    .argument('<key>', "the key's name in the configuration")
    .description('suspend a key; running gateways apply it within five seconds')
    .option('--reason <text>', 'the reason, shown to other operators (required)')
    .hook('preAction', needs('reason'))
    .option('--for <time>', 'for how long, such as 2h; absent: until it is resumed')
    .addOption(configOption())
    .action(async (upstream, key, options) =>
      (await import('./commands/upstreams.ts')).suspendKey(upstream, key, options),
    )
  upstreams
    .command('resume')
    .argument('<upstream>')
    .argument('<key>', "the key's name in the configuration")
    .description('resume a suspended key, whatever the reason; running gateways apply it within five seconds')
    .addOption(configOption())
    .action(async (upstream, key, options) =>
      (await import('./commands/upstreams.ts')).resumeKey(upstream, key, options),
    )
  upstreams
    .command('test')
    .argument('[upstream]', "the upstream's name; absent: all")
    .argument('[key]', "the key's name; absent: all keys of the upstream")
    .description('test keys with a free request; exit 1 if one is refused')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async (upstream, key, options) =>
      (await import('./commands/upstreams.ts')).testKeys(upstream, key, options),
    )
}

/** Budgets. */
function addBudgets(program: Command): void {
  program
    .command('budgets')
    .description('show every budget: of groups, users, balances, keys and end users')
    .option('--end-user <name>', 'only budgets of this end user')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/budgets.ts')).listBudgets(options))
}

/** Objects that upstreams store for clients. */
function addObjects(program: Command): void {
  const objects = program.command('objects').description('stored responses, files and conversations of clients')
  objects
    .command('list')
    .description('list recorded objects, newest first')
    .option('--key <id>', 'only objects of this key')
    .option('--kind <kind>', 'only this kind, such as response, file or conversation')
    .option('--limit <count>', 'maximum number of objects', parseCount, 20)
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/objects.ts')).listObjects(options))
  objects
    .command('end')
    .argument('<id>', 'ID of the object at the vendor')
    .description('block further requests for an object and delete it at the vendor')
    .option('--key <id>', 'key of the object, if several keys have one with this ID')
    .option('--reason <text>', 'reason, recorded in the audit log')
    .option('--keep', 'end the record only; do not call the vendor')
    .addOption(configOption())
    .action(async (id, options) => (await import('./commands/objects.ts')).endObject(id, options))
}

/** Open WebSocket sessions. */
function addSessions(program: Command): void {
  const sessions = program.command('sessions').description('open WebSocket sessions of clients')
  sessions
    .command('list')
    .description('list open sessions of all gateways on the storage, newest first')
    .option('--key <id>', 'only sessions of this key')
    .option('--limit <count>', 'maximum number of sessions', parseCount, 50)
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/sessions.ts')).listSessions(options))
  sessions
    .command('end')
    .argument('<id>', 'ID of the session, the request ID of its handshake')
    .description('end an open session; running turns are cancelled and charged')
    .option('--reason <text>', 'reason, recorded in the audit log')
    .addOption(configOption())
    .action(async (id, options) => (await import('./commands/sessions.ts')).endSession(id, options))
}

/** Cached answers. */
function addCache(program: Command): void {
  const cache = program.command('cache').description('cached responses of the answer cache')
  cache
    .command('purge')
    .description('stop using cached responses, in all gateways on the storage; without options, all of them')
    .option('--model <name>', 'only responses of this model')
    .option('--key <id>', 'only responses to requests of this key')
    .option('--reason <text>', 'reason, recorded in the audit log')
    .addOption(configOption())
    .action(async options => (await import('./commands/cache.ts')).purgeCache(options))
}

/** The request log. */
function addLogs(program: Command): void {
  const logs = program
    .command('logs')
    .description('the request log, newest first')
    .option('--limit <count>', 'maximum number of entries', parseCount, 20)
    .option('--since <when>', 'start time: a date, a timestamp, a time ago (2h), today or yesterday')
    .option('--until <when>', 'end time, exclusive, in the same forms')
    .addOption(zoneOption('time zone of dates', 'local'))
    .option('--status <status>', 'only this status, or a class such as 4xx')
    .option('--user <name>', 'only this user')
    .option('--key <id>', 'only this key')
    .option('--model <name>', 'only this model')
    .option('--end-user <name>', 'only requests for this end user')
    .option('--tag <tag>', 'only requests with this tag')
    .addOption(new Option('--outcome <outcome>', 'only this outcome').choices(outcomes))
    .addOption(
      new Option('--cache <result>', 'only this result of the answer cache').choices(['hit', 'miss', 'bypass']),
    )
    .addOption(new Option('--result <result>', 'only this result').choices(results))
    .option('--min-cost <amount>', 'only requests that cost at least this much')
    .option('-f, --follow', 'print new entries as they arrive, oldest first, until Ctrl-C', false)
    .addOption(configOption())
    .addOption(formatOption(['text', 'table', 'json', 'csv']))
    .allowExcessArguments()
    .hook('preAction', refuseUnknownWord)
    .action(async options => (await import('./commands/logs.ts')).listLogs(options))
  logs
    .command('show')
    .argument('<id>', "the request's id")
    .description('show one request and explain its charge')
    .action(async (id, _options, command: Command) =>
      (await import('./commands/logs.ts')).showLog(id, command.optsWithGlobals()),
    )
}

/** Events and their receivers. */
function addEvents(program: Command): void {
  const events = program.command('events').description('events and webhooks')
  events
    .command('list')
    .description('list events, including charges, in the order they were recorded')
    .option('--after <id>', 'only events after this one')
    .option('--since <time>', 'start time: a date (2026-11-01, UTC), a timestamp, or a time ago (2h)')
    .option('--kind <kind...>', 'only these kinds, such as charge.settled or budget.*')
    .option('--limit <count>', 'maximum number of entries', parseCount, 100)
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/events.ts')).listEvents(options))
  events
    .command('redeliver')
    .description('redeliver one event to a webhook, or all events after one')
    .option('--webhook <name>', "the webhook's name in the configuration (required)")
    .hook('preAction', needs('webhook'))
    .option('--after <id>', 'redeliver all events after this one')
    .option('--id <id>', 'redeliver this event')
    .addOption(configOption())
    .action(async options => (await import('./commands/events.ts')).redeliver(options))
}

/** Charges and the verification of the ledger. */
function addLedger(program: Command): void {
  const ledger = program.command('ledger').description('charges and the ledger')
  ledger
    .command('verify')
    .description('verify every invariant of the ledger; exit 1 if one is broken')
    .option('--anchor <file>', 'also compare with anchors: one per line, or a gateway log; - for standard input')
    .option('--rebuild-sums', 'first rebuild the cost sums and correct the budgets from the charges')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/ledger.ts')).verify(options))
  ledger
    .command('anchor')
    .description('print the state of the ledger as one line, to store elsewhere')
    .addOption(configOption())
    .action(async options => (await import('./commands/ledger.ts')).anchor(options))
  ledger
    .command('replay')
    .description('recompute every charge from its stored facts; exit 1 if one differs')
    .option('--rebuild-sums', 'instead, rebuild the cost sums and correct the budgets; works while a gateway runs')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/ledger.ts')).replay(options))
  ledger
    .command('resolve')
    .argument('<id>', "the charge's id")
    .description('resolve a charge that needs review')
    .addOption(new Option('--as <how>', 'how to resolve it').choices(['settle', 'void']).default('void'))
    .option('--amount <money>', 'with --as settle: the amount to charge, at most the amount held; 0 by default')
    .option('--reason <text>', 'the reason, recorded in the ledger', '')
    .addOption(configOption())
    .action(async (id, options) => (await import('./commands/ledger.ts')).resolve(id, options))
  ledger
    .command('refund')
    .argument('<id>', "the charge's id")
    .description('give back what was charged, or a part of it, with a reason, by an opposite entry')
    .option('--amount <money>', 'the amount to refund; all that is left by default')
    .option('--refunded <money>', 'what was refunded before; if it is another amount, nothing is refunded')
    .option('--reason <text>', 'the reason, recorded in the ledger', '')
    .addOption(configOption())
    .action(async (id, options) => (await import('./commands/ledger.ts')).refund(id, options))
  ledger
    .command('reprice')
    .description('apply the configured prices to past charges; each that differs is refunded and charged again')
    .requiredOption('--since <moment>', 'start time: a date, a timestamp, a time ago (7d), today or yesterday')
    .option('--until <moment>', 'end time, exclusive; now by default')
    .option('--zone <name>', 'time zone of these times; that of the budgets by default')
    .option('--dry-run', 'print the differences and change nothing')
    .option('--apply', 'refund and charge again')
    .option('--reason <text>', 'the reason, recorded in both entries', 'prices corrected')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/reprice.ts')).reprice(options))
  ledger
    .command('find-withheld')
    .description('list settled charges whose response was cut off because of unknown content')
    .option('--refund', 'refund each of them by an opposite entry, with a reason', false)
    .option('--reason <text>', 'with --refund: the reason', 'charged and withheld')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/find-withheld.ts')).findWithheld(options))
}

/** First steps: a configuration, recipes for it, and the settings of agents. */
function addInitCommands(program: Command): void {
  program
    .command('init')
    .argument('[folder]', 'the folder of gateway.yaml', '.')
    .description('set up a folder for a gateway (gateway.yaml, .env.example, .gitignore), or add vendors to one')
    .option(
      '--upstream <name=url>',
      'URL of an upstream, as in alpha=https://api.example.com; repeatable',
      parseUpstream,
      new Map(),
    )
    .option(
      '--vendor <name>',
      'a vendor recipe to start with, or to add to the existing gateway.yaml; repeatable (see `tollgate recipes`)',
      (name: string, before: readonly string[]) => [...before, name],
      [],
    )
    .option('--currency <code>', 'currency of every price')
    .option('--listen <address>', 'address for clients')
    .option('--ops <address>', 'address for operators')
    .option('--storage <url>', 'storage for keys and charges')
    .option('--counters <url>', 'store for rate limit counters')
    .option('-y, --yes', 'do not prompt; use the defaults for what no flag sets', false)
    .option('--force', 'overwrite existing files', false)
    .option(
      '--agent <name>',
      'print the settings of a coding agent instead, as in claude-code (docs/agents.md lists them)',
    )
    .option('--url <address>', 'with --agent: the address of the gateway (default: server.listen)')
    .option('--model <name>', 'with --agent: the model to use (default: the first that offers what the agent needs)')
    .option('--write', 'with --agent: write the file that the agent reads', false)
    .action(async (folder, { agent, url, model, write, ...options }) =>
      agent === undefined
        ? (await import('./commands/init.ts')).init(folder, options)
        : (await import('./commands/init-agent.ts')).initAgent(folder, {
            agent,
            url,
            model,
            write,
            force: options.force,
          }),
    )
  program
    .command('recipes')
    .argument('[name]', 'a recipe; print its lines of gateway.yaml')
    .description('list the vendor recipes, with their models, operations and required settings')
    .addOption(formatOption(['text', 'json']))
    .action(async (name: string | undefined, options) => (await import('./commands/recipes.ts')).recipes(name, options))
}

/** Commands for a configuration that need no running gateway. */
function addConfigurationCommands(program: Command): void {
  program
    .command('fmt')
    .argument('[file]', 'the configuration, as with -c')
    .description('format a configuration file; comments are kept')
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .option('--check', 'write nothing; exit 1 if the file is not formatted', false)
    .action(async (file: string | undefined, options) =>
      (await import('./commands/fmt.ts')).fmt(file ?? options.config, options),
    )
  program
    .command('lint')
    .alias('audit')
    .argument('[file]', 'the configuration, as with -c')
    .description('find dangerous settings in a valid configuration; exit 1 if one is an error')
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .option('--ignore <rules>', 'rules to skip, separated by commas', splitNames, [])
    .option('--rules', 'list the rules', false)
    .addOption(formatOption(['text', 'json', 'github', 'sarif']))
    .action(async (file: string | undefined, options) =>
      (await import('./commands/lint.ts')).lint(file ?? options.config, options),
    )
  const config = program
    .command('config')
    .argument('[key]', 'print only this part, such as server or models.NAME')
    .description('print the effective configuration with defaults; secrets are redacted')
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .option('--show-origin', 'show where each value comes from', false)
    .addOption(formatOption(['text', 'json']))
    .action(async (key: string | undefined, options) => (await import('./commands/config.ts')).showConfig(key, options))
  config
    .command('cost')
    .argument('<file>', 'the configuration with the other prices')
    .description('compute what past charges would have cost under another configuration')
    .option('--since <when>', 'start time: a date, a timestamp, or a time ago (7d); the start of last month by default')
    .option(
      '--until <when>',
      'end time, exclusive, in the same forms; the end of last month by default, or now with --since',
    )
    .option('--zone <name>', 'time zone of dates, such as Europe/Berlin, UTC, or local; that of the budgets by default')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    // Commander assigns an option that the parent command also has to the parent.
    .action(async (file: string, _own, command: Command) =>
      (await import('./commands/config-cost.ts')).configCost(file, command.optsWithGlobals()),
    )
  addConfigHistory(config)
  program
    .command('diff')
    .argument('[file]', 'the configuration, as with -c')
    .description('show what a configuration would change in the running gateway, prices first')
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .option('--against <file>', 'compare with this file instead; no gateway has to run')
    .addOption(opsOption())
    .addOption(formatOption(['text', 'json']))
    .action(async (file: string | undefined, options) =>
      (await import('./commands/diff.ts')).diff(file ?? options.config, { ...options, config: file ?? options.config }),
    )
  program
    .command('docs')
    .argument('[key]', 'such as models.prices, image-tier-billing.tier_from')
    .description('explain a configuration key and its allowed values')
    .addOption(formatOption(['text', 'json']))
    .action(async (key: string | undefined, options) => (await import('./commands/docs.ts')).docs(key, options))
}

/** The history of configurations. */
function addConfigHistory(config: Command): void {
  config
    .command('history')
    .description('list the configurations that were active, newest first: when, by whom, and what changed')
    .option('--limit <count>', 'maximum number of entries', parseCount, 20)
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async (_own, command: Command) =>
      (await import('./commands/config-history.ts')).listConfigHistory(command.optsWithGlobals()),
    )
  config
    .command('diff')
    .argument('<id>', 'an id from the history', parseCount)
    .argument('[other]', 'the id to compare with; the previous one by default', parseCount)
    .description('show what a past configuration changed: the effect, and the lines without secrets')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async (id: number, other: number | undefined, _own, command: Command) =>
      (await import('./commands/config-history.ts')).diffConfigHistory(id, other, command.optsWithGlobals()),
    )
}

/** The import from other gateways. */
function addImport(program: Command): void {
  program
    .command('import')
    .argument('<what>', 'the configuration file of LiteLLM; or litellm, new-api or one-api')
    .argument(
      '[source]',
      'its configuration file; for new-api and one-api the database (a SQLite file, a MySQL, MariaDB or PostgreSQL dump, postgres://…), or JSON exports (a file or a folder)',
    )
    .description(
      "convert another gateway's configuration or database; reports what cannot be imported; exit 4 if no model is active, 1 if a guardrail, a budget or a fallback is lost",
    )
    .addOption(
      new Option('--from <gateway>', 'the source gateway, if it is not the first argument')
        .choices(['litellm', 'new-api', 'one-api'])
        .default('litellm'),
    )
    .option('--out <file>', 'output file; absent: standard output')
    .option('--force', 'overwrite existing files', false)
    .option(
      '--secrets <folder>',
      'write vendor keys to this folder, one file of mode 600 each; absent: use environment variables',
    )
    .option('--prices <file>', "price table: LiteLLM's model_prices_and_context_window.json")
    .option(
      '--database <source>',
      'for litellm: its PostgreSQL (postgres://…) or a plain-text pg_dump, for teams, users and keys',
    )
    .option(
      '--expand',
      'accepted for older scripts: with --prices, patterns such as openai/* always become the models of the table',
      false,
    )
    .option(
      '--allow-undercharge',
      'also import rows with a price that has no equivalent here; such use is not charged',
      false,
    )
    .option('--local-free', 'set models on your own machines to price: free', false)
    .option('--mode <mode>', 'mode of models for which none is given, such as chat')
    .option('--without-end', 'accept a dump without an end marker as complete', false)
    .option('--users-only', 'import only users and keys from a database; --out names the existing configuration', false)
    .option('--accept-losses', 'exit 0 although a guardrail, a budget or a fallback is not in effect here', false)
    .option('--dry-run', 'report what would happen, and write nothing', false)
    .addOption(formatOption(['text', 'json']))
    .action(async (what: string, source: string | undefined, options) =>
      (await import('./commands/import.ts')).importFrom(what, source, options),
    )
}

/** Tables of prices. */
function addPrices(program: Command): void {
  const prices = program.command('prices').description('price tables: import, compare and list')
  const onlyOption = (): Option =>
    new Option('--only <names>', 'only these models, separated by commas; * matches any part of a name')
      .argParser(splitNames)
      .default([], 'all')
  prices
    .command('import')
    .argument('<file>', 'the source price list; - for standard input')
    .description(
      'convert a third-party price list to a file for price_tables; reports the rows left out, with the reason',
    )
    .addOption(new Option('--from <list>', 'format of the price list (required)').choices(priceSources))
    .hook('preAction', needs('from'))
    .addOption(onlyOption())
    .option(
      '--provider <names>',
      'only these providers, as named in the price list, separated by commas',
      splitNames,
      [],
    )
    .option(
      '--allow-undercharge',
      'also import rows with a price that has no equivalent here; tollgate check reports each',
      false,
    )
    .option('--source <text>', "source to record in the file; the price list's name by default")
    .option('--as-of <day>', 'date of the prices to record in the file; today by default')
    .option('-o, --out <file>', 'output file, may replace an earlier import; absent: standard output')
    .option('--force', 'overwrite a file that was written or changed by hand', false)
    .addOption(formatOption(['text', 'json']))
    .action(async (file: string, options) => (await import('./commands/prices.ts')).importTable(file, options))
  prices
    .command('diff')
    .argument('<file>', 'a price table; the older one if you give two')
    .argument('[newer]', 'the newer price table; absent: compare the configuration with the first')
    .description(
      'show what a newer price table changes, by model and unit; exit 1 for changes, 0 for none, 2 or 3 on error',
    )
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .addOption(onlyOption())
    .option('--from-tables', 'only models whose prices come from a price table', false)
    .addOption(formatOption(['text', 'json']))
    .action(async (file: string, newer: string | undefined, options) =>
      (await import('./commands/prices.ts')).diffTables(file, newer, options),
    )
  prices
    .command('list')
    .description('list the price of every model, with the file and line of each price')
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/prices.ts')).listTable(options))
}

function addModelCommands(program: Command): void {
  const models = program.command('models').description('models and their prices')
  models
    .command('list')
    .description('list the models with their family, upstreams, operations and prices')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/models.ts')).listModels(options))
  models
    .command('test')
    .argument('[models...]', 'model names; absent: all')
    .description('send one small request to each model through the running gateway; exit 1 if one fails')
    .option('--url <url>', "the gateway's URL; by default from the configuration")
    .option('-y, --yes', 'skip the confirmation of paid requests', false)
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async (names, options) => (await import('./commands/models.ts')).testModels(names, options))
}

/** Commands for a running gateway and its storage. */
function addRunningCommands(program: Command): void {
  program
    .command('reload')
    .description('reload the configuration of the running gateway; exit 3 if it is invalid, 4 if no gateway runs')
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .addOption(opsOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/reload.ts')).reload(options))
  program
    .command('status')
    .description('show the status of the running gateway; exit 4 if no gateway runs')
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .addOption(opsOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/status.ts')).status(options))
  program
    .command('healthcheck')
    .description('exit 0 if the gateway responds, else 1; for container health checks')
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .addOption(opsOption())
    .option('--ready', 'exit 0 only if it accepts requests', false)
    .action(async options => (await import('./commands/healthcheck.ts')).healthcheck(options))
  program
    .command('doctor')
    .description('check everything that the gateway needs to run; exit 1 if a check fails')
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .option(
      '--live <models>',
      'request the smallest image from these models, separated by commas, and report the result; costs money',
      splitNames,
      [],
    )
    .option('--live-all', 'like --live, for every model with a real upstream', false)
    .option('--simulated', 'with --live: include simulated upstreams', false)
    .option('-y, --yes', 'with --live: skip the confirmation', false)
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/doctor.ts')).doctor(options))
  addModelCommands(program)
  program
    .command('usage')
    .description('show total charges')
    .addOption(new Option('--by <what>', 'group by').choices(usageSorts).default('day'))
    .option('--since <when>', 'start time: a date, a timestamp, a time ago, today or yesterday; 30d by default')
    .option('--until <when>', 'end time, exclusive, in the same forms; now by default')
    .addOption(zoneOption('time zone of dates and of days', 'UTC'))
    .option('--against-vendor', 'by model and day, next to the cost that vendors report', false)
    .addOption(configOption())
    .addOption(formatOption(['text', 'csv', 'json']))
    .action(async options => (await import('./commands/usage.ts')).usage(options))
  program
    .command('statement')
    .description('print a monthly statement of every user and group, checked against the ledger; exit 1 if they differ')
    .option('--month <month>', 'the month, such as 2026-11 (required)')
    .hook('preAction', needs('month'))
    .option('--user <name>', 'only this user')
    .option('--group <name>', 'only this group')
    .option('--end-user <name>', 'only charges of this end user')
    .option('--tag <name>', 'only charges with this tag')
    .addOption(new Option('--by <label>', 'split the month by label too').choices(['end_user', 'tag']))
    .option('--balances', 'only prepaid balances: opening, paid in, charged, refunded, closing', false)
    .addOption(zoneOption('time zone of the month', 'UTC'))
    .addOption(configOption())
    .addOption(formatOption(['table', 'csv', 'html', 'json']).default('table'))
    .action(async options => (await import('./commands/statement.ts')).statement(options))
  program
    .command('backup')
    .argument('<file>', 'file to write; it must not exist')
    .description('back up the SQLite database; works while a gateway runs')
    .addOption(configOption())
    .action(async (file, options) => (await import('./commands/backup.ts')).backup(file, options))
  program
    .command('restore')
    .argument('<file>', 'a file written by tollgate backup')
    .description('replace the database with a backup; the previous database is kept')
    .addOption(configOption())
    .action(async (file, options) => (await import('./commands/backup.ts')).restore(file, options))
  addStorage(program)
}

/** The storage itself. */
function addStorage(program: Command): void {
  const storage = program.command('storage').description('the storage of keys, charges and the log')
  storage
    .command('copy')
    .description('copy everything to an empty storage, SQLite or PostgreSQL, and verify the copy')
    .option('--from <url>', 'source: sqlite:FILE or postgres://…; the configured storage by default')
    .option('--to <url>', 'destination, in the same form (required)')
    .hook('preAction', needs('to'))
    .option('--snapshot', 'copy the state at one moment while a gateway runs; later charges are not included', false)
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/storage.ts')).copy(options))
  storage
    .command('migrate')
    .description('migrate the schema of an older version; waits until every gateway of that version has stopped')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/storage.ts')).migrate(options))
}

function addErasing(users: Command): void {
  users
    .command('erase')
    .argument('<name>')
    .description("erase a user's personal data, except what the ledger needs as proof")
    .option('--dry-run', 'count the rows to erase in each table, and change nothing', false)
    .option('--end-user', 'the name is that of an end user, not of a user', false)
    .option('--yes', 'skip the confirmation', false)
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async (name, options) => (await import('./commands/erase.ts')).eraseUser(name, options))
}

/** Options for the settings of a key, when it is created and later. */
function addSettings(command: Command): Command {
  return command
    .option('--group <group>', "the key's own group, instead of the user's")
    .option('--models <names>', 'models that it may use, separated by commas; one * in a name matches any text')
    .option('--ips <addresses>', 'addresses and CIDR blocks it may be used from, separated by commas')
    .option('--tags <tags>', 'tags of its requests, separated by commas, for attribution with the source key')
    .addOption(
      new Option('--cache <use>', 'whether it uses the answer cache of models that have one').choices([
        'on',
        'off',
        'none',
      ]),
    )
    .option('--expires <when>', 'expiry: a date (2027-01-31, UTC) or a time from now (30d)')
    .option('--rpm <count>', "requests in any 60 seconds, if less than the group's limit")
    .option('--tpm <count>', "tokens in any 60 seconds, if less than the group's limit")
    .option('--concurrency <count>', 'concurrent requests')
    .option('--budget <amount>', 'what the key may spend, as in 25.00')
    .option('--budget-period <period>', 'period of the budget: total, day, week, month, or days such as 7d')
    .option('--resets-on <day>', 'first day of the week (a weekday, monday by default) or the month (1 to 28)')
    .option('--budget-soft <yes|no>', 'yes: only send threshold events, and refuse no request')
}

function* everyCommand(command: Command, name: string): Iterable<{ readonly command: Command; readonly name: string }> {
  yield { command, name }
  for (const child of command.commands) yield* everyCommand(child, `${name} ${child.name()}`)
}

/** A required option. Commander checks required options before unknown ones, which would hide a misspelt option. */
function needs(option: string): (command: Command) => void {
  return command => {
    if (command.getOptionValue(option) === undefined)
      command.error(`error: required option '--${option} <${option}>' not specified`)
  }
}

/** Commander takes a misspelt subcommand of a command with its own action for an argument. */
function refuseUnknownWord(command: Command, running: Command): void {
  const [word] = command.args
  if (word === undefined || command !== running) return
  const names = command.commands.map(child => child.name()).join(', ')
  command.error(`error: unknown command '${word}'\n(${command.name()} has: ${names})`)
}

function configOption(): Option {
  return new Option('-c, --config <file>', 'the configuration file that sets the storage').default('gateway.yaml')
}

function zoneOption(what: string, usual: string): Option {
  return new Option('--zone <name>', `${what}: a zone such as Europe/Berlin, UTC, or local`).default(usual)
}

function opsOption(): Option {
  return new Option(
    '--ops <address>',
    "the gateway's address for operators, as host:port; by default from the configuration",
  )
}

function formatOption(formats: readonly string[]): Option {
  return new Option('--format <format>', 'output format; with json, messages are JSON too')
    .choices(formats)
    .default('text')
}

function parseUpstream(text: string, before: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const [, name, url] = /^([\w-]+)=(.+)$/.exec(text) ?? []
  if (name === undefined || url === undefined) throw new InvalidArgumentError('expected NAME=URL.')
  return new Map([...before, [name, url]])
}

function splitNames(text: string, before: readonly string[]): readonly string[] {
  return [...before, ...text.split(',').map(name => name.trim())]
}

function parseCount(text: string): number {
  const count = Number(text)
  if (!Number.isSafeInteger(count) || count < 1) throw new InvalidArgumentError('expected a whole number from 1.')
  return count
}
