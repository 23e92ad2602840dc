import { Argument, Command, InvalidArgumentError, Option } from 'commander'
import { say } from './exit.ts'
import { parseFields } from './parse-fields.ts'

const version = 'version'

/** What use is added up by. */
export const usageSorts = ['day', 'user', 'group', 'key', 'model', 'tier', 'upstream'] as const

/** How a request may end: written here, so that `version` does not wait for the library. A test holds them against it. */
export const outcomes = ['answered', 'refused', 'caller_gone', 'upstream_cut', 'deadline'] as const

/** Whose tables of prices are read: written here for the same reason. */
export const priceSources = ['litellm', 'openrouter', 'new-api'] as const

/** The whole command line. Each command's code is loaded when it runs, so that `version` does not wait for a database. */
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
    .description('check a configuration without starting it; exit 3 when it is not valid')
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .option('--strict', 'refuse what is warned of too', false)
    .addOption(formatOption(['text', 'json', 'github', 'sarif']))
    .action(async (file: string | undefined, options) =>
      (await import('./commands/check.ts')).check(file ?? options.config, options),
    )
  addConfigurationCommands(program)
  addImport(program)
  addPrices(program)
  addRunningCommands(program)
  addExplain(program)
  addKeys(program)
  addUsers(program)
  addBudgets(program)
  addUpstreams(program)
  addObjects(program)
  addLogs(program)
  addLedger(program)
  addEvents(program)

  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .description("print a shell's completion of commands, flags and keys of the configuration")
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
    command.exitOverride().showHelpAfterError(`(${name} --help tells more)`)
    command.configureOutput({ writeErr: text => say(text.trimEnd(), 'error') })
    if (command.commands.length === 0 && !command.options.some(({ long }) => long === '--format'))
      command.addOption(formatOption(['text', 'json']))
  }
  return program
}

/** What would happen, or did. */
function addExplain(program: Command): void {
  const explain = program.command('explain').description('say what would happen, or what did, and what it costs')
  explain
    .command('image')
    .description('what a request for images would forward, get back and cost')
    .option('--model <name>', 'the model (needed)')
    .hook('preAction', needs('model'))
    .option('--size <size>', 'the requested size, as a client would write it')
    .option('--n <count>', 'how many', parseCount, 1)
    .option('--quality <quality>', 'the requested quality')
    .option('--fields <json>', 'more fields of the request, as a JSON object', parseFields)
    .option('--edit', 'an edit instead of a generation', false)
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/explain.ts')).explainImage(options))
  explain
    .command('chat')
    .description('what a conversation would forward, be held for, and cost')
    .option('--model <name>', 'the model (needed)')
    .hook('preAction', needs('model'))
    .option('--message <text>', 'the text of the message', 'Hello!')
    .option('--body <file>', 'the body of a request as JSON, in place of a message; - for standard input')
    .option('--max-tokens <count>', 'how long the answer may be', parseCount)
    .option('--input-tokens <count>', 'what it costs when so many are read', parseCount)
    .option('--output-tokens <count>', 'what it costs when so many are written', parseCount)
    .option('--group <name>', 'the group whose multiplier applies')
    .option('--operation <name>', "its operation; the model's first by default")
    .option('--fields <json>', 'more fields of the request, as a JSON object', parseFields)
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/explain.ts')).explainChat(options))
  explain
    .command('request')
    .description('what any request would forward and cost, as far as a plugin says so beforehand')
    .option('--model <name>', 'the model (needed)')
    .hook('preAction', needs('model'))
    .option('--operation <name>', 'such as chat; the first that the model is offered for by default')
    .option('--size <size>', 'the requested size, as a client would write it')
    .option('--n <count>', 'how many', parseCount, 1)
    .option('--quality <quality>', 'the requested quality')
    .option('--fields <json>', 'more fields of the request, as a JSON object', parseFields)
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/explain.ts')).explainAny(options))
  explain
    .command('log')
    .argument('<id>', "a request's id")
    .description('why a request was charged what it was')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async (id, options) => (await import('./commands/logs.ts')).showLog(id, options))
}

/** API keys. */
function addKeys(program: Command): void {
  const keys = program.command('keys').description('API keys')
  const create = keys
    .command('create')
    .description('make a key; its secret is shown once')
    .option('--name <name>', 'what it is for (needed)')
    .hook('preAction', needs('name'))
    .option('--user <user>', 'whose it is', 'local')
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
    .description('all there is to know of a key but its secret')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async (id, options) => (await import('./commands/keys.ts')).showKey(id, options))
  const update = keys
    .command('update')
    .argument('<id>', "the key's id")
    .description("change a key; 'none' takes a setting off; running gateways know within a second")
    .option('--name <name>', 'what it is for')
  addSettings(update)
    .addOption(configOption())
    .action(async (id, options) => (await import('./commands/keys.ts')).updateKey(id, options))
  keys
    .command('disable')
    .argument('<id>', "the key's id")
    .description('refuse a key until it is enabled again')
    .addOption(configOption())
    .action(async (id, options) => (await import('./commands/keys.ts')).disableKey(id, options))
  keys
    .command('enable')
    .argument('<id>', "the key's id")
    .description('take a key again that was disabled')
    .addOption(configOption())
    .action(async (id, options) => (await import('./commands/keys.ts')).enableKey(id, options))
  keys
    .command('rotate')
    .argument('<id>', "the key's id")
    .description('give a key a new secret, shown once')
    .option('--overlap <time>', 'how long the old secret is still taken', '24h')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async (id, options) => (await import('./commands/keys.ts')).rotateKey(id, options))
  keys
    .command('revoke')
    .argument('<id>', "the key's id")
    .description('end a key for good; running gateways refuse it within a second')
    .addOption(configOption())
    .action(async (id, options) => (await import('./commands/keys.ts')).revokeKey(id, options))
}

/** Users. */
function addUsers(program: Command): void {
  const users = program.command('users').description('users')
  users
    .command('create')
    .argument('<name>')
    .option('--group <group>', 'the group whose limits apply', 'default')
    .option('--role <role>', 'user, viewer, billing or admin', 'user')
    .addOption(configOption())
    .action(async (name, options) => (await import('./commands/users.ts')).createUser(name, options))
  users
    .command('list')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/users.ts')).listUsers(options))
  users
    .command('set')
    .argument('<name>')
    .description('change a user; running gateways know within a second')
    .option('--group <group>', 'the group whose limits apply')
    .option('--role <role>', 'user, viewer, billing or admin')
    .option('--status <status>', 'active, or disabled: then all keys of the user are refused')
    .option('--keys-max <count>', 'how many keys the user may make; none for what the group says')
    .option('--models <names>', 'the models that a key they make may use, by commas (small-*), or none for any')
    .option('--ips <addresses>', 'the addresses and CIDR blocks that it may come from, by commas, or none for any')
    .option('--rpm <count>', 'the largest --rpm that a key they make may have, or none for any')
    .option('--tpm <count>', 'the largest --tpm that a key they make may have, or none for any')
    .option('--concurrency <count>', 'the largest --concurrency that a key they make may have, or none for any')
    .option('--budget <amount>', "the largest --budget of a key they make, or none; the user's own: users budget")
    .option('--budget-period <period>', 'what that budget is for: total, day or month')
    .option('--expires <when>', 'when such a key ends at the latest: a date, a time from now such as 30d, or none')
    .addOption(configOption())
    .action(async (name, options) => (await import('./commands/users.ts')).setUser(name, options))
  users
    .command('budget')
    .argument('<name>')
    .description('what all keys of a user may spend together; running gateways know within a second')
    .requiredOption('--amount <money>', 'how much; none for what the group gives each of its users')
    .option('--per <period>', 'what it is for: total, day or month', 'total')
    .addOption(configOption())
    .action(async (name, options) => (await import('./commands/users.ts')).setUserBudget(name, options))
  users
    .command('role')
    .argument('<name>')
    .argument('<role>', 'user, viewer, billing or admin')
    .description('give a user another role; their sessions end')
    .addOption(configOption())
    .action(async (name, role, options) => (await import('./commands/users.ts')).setUser(name, { ...options, role }))
  users
    .command('invite')
    .description('print a link that lets one person become a user, once')
    .option('--name <name>', 'what they will be called; without it they choose')
    .option('--role <role>', 'user, viewer, billing or admin', 'user')
    .option('--group <group>', 'the group whose limits apply', 'default')
    .option('--for <time>', 'how long it is good, at most 90d', '3d')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/invite.ts')).invite(options))
  users
    .command('invitations')
    .description('the invitations that are good still')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/invite.ts')).listInvitations(options))
  users
    .command('uninvite')
    .argument('<id>', 'of the invitation')
    .description('take an invitation back')
    .addOption(configOption())
    .action(async (id, options) => (await import('./commands/invite.ts')).revokeInvitation(id, options))
  users
    .command('topup')
    .argument('<name>')
    .argument('<amount>')
    .description('pay in for a user, whose requests are taken from the balance from then on')
    .option('--note <text>', 'what it was paid for or with')
    .addOption(configOption())
    .action(async (name, amount, options) => (await import('./commands/budgets.ts')).topUp(name, amount, options))
  users
    .command('balance')
    .argument('<name>')
    .description('what was paid in for a user, and what is left of it')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async (name, options) => (await import('./commands/budgets.ts')).showBalance(name, options))
  users
    .command('erase')
    .argument('<name>')
    .description('erase a person: all that is about them, but what the ledger has to prove')
    .option('--dry-run', 'count what would go, table by table, and change nothing', false)
    .option('--yes', 'do not ask for confirmation', false)
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async (name, options) => (await import('./commands/erase.ts')).eraseUser(name, options))
  users
    .command('passwd')
    .argument('<name>')
    .description('set a password; it is read from standard input')
    .addOption(configOption())
    .action(async (name, options) => (await import('./commands/users.ts')).setPassword(name, options))
}

/** Keys of vendors. */
function addUpstreams(program: Command): void {
  const upstreams = program.command('upstreams').description('upstreams and their keys')
  upstreams
    .command('list')
    .description('the state of every upstream and of each of its keys, with the reason')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/upstreams.ts')).listUpstreams(options))
  upstreams
    .command('suspend')
    .argument('<upstream>')
    .argument('<key>', 'its name in the configuration')
    .description('stop using a key; running gateways know within five seconds')
    .option('--reason <text>', 'the reason, for people who find it suspended (needed)')
    .hook('preAction', needs('reason'))
    .option('--for <time>', 'for how long, such as 2h; until it is resumed when absent')
    .addOption(configOption())
    .action(async (upstream, key, options) =>
      (await import('./commands/upstreams.ts')).suspendKey(upstream, key, options),
    )
  upstreams
    .command('resume')
    .argument('<upstream>')
    .argument('<key>', 'its name in the configuration')
    .description('use a key again, whatever suspended it; running gateways know within five seconds')
    .addOption(configOption())
    .action(async (upstream, key, options) =>
      (await import('./commands/upstreams.ts')).resumeKey(upstream, key, options),
    )
  upstreams
    .command('test')
    .argument('[upstream]', 'all when absent')
    .argument('[key]', 'all of the upstream when absent')
    .description('take a free look whether keys are let in; exit 1 when one is not')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async (upstream, key, options) =>
      (await import('./commands/upstreams.ts')).testKeys(upstream, key, options),
    )
}

/** Who may spend how much. */
function addBudgets(program: Command): void {
  program
    .command('budgets')
    .description('the state of every budget: of groups, users, balances and keys')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/budgets.ts')).listBudgets(options))
}

/** What upstreams keep for clients. */
function addObjects(program: Command): void {
  const objects = program
    .command('objects')
    .description('responses, files and conversations that upstreams keep for clients')
  objects
    .command('list')
    .description('what is recorded of them, newest first')
    .option('--key <id>', 'of one key')
    .option('--kind <kind>', 'of one kind, such as response, file or conversation')
    .option('--limit <count>', 'how many', parseCount, 20)
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/objects.ts')).listObjects(options))
  objects
    .command('end')
    .argument('<id>', 'its id at the vendor')
    .description('take one from its key: no request reaches it any more; the vendor keeps it until it expires there')
    .option('--key <id>', 'the key that has it, where several have one of that id')
    .option('--reason <text>', 'why; it is in the audit log')
    .addOption(configOption())
    .action(async (id, options) => (await import('./commands/objects.ts')).endObject(id, options))
}

/** The request log. */
function addLogs(program: Command): void {
  const logs = program
    .command('logs')
    .description('the request log, newest first')
    .option('--limit <count>', 'how many', parseCount, 20)
    .option('--since <when>', 'from then on: a date, a moment, a time ago (2h), today or yesterday')
    .option('--until <when>', 'before then, in the same words')
    .addOption(zoneOption('what dates are read and shown in', 'local'))
    .option('--status <status>', 'of one status, or of a class of them such as 4xx')
    .option('--user <name>', 'of one user')
    .option('--key <id>', 'of one key')
    .option('--model <name>', 'of one model')
    .addOption(new Option('--outcome <outcome>', 'of one outcome').choices(outcomes))
    .option('--min-cost <amount>', 'that cost at least so much')
    .option('-f, --follow', 'go on with what comes, oldest first, until Ctrl-C', false)
    .addOption(configOption())
    .addOption(formatOption(['text', 'table', 'json', 'csv']))
    .allowExcessArguments()
    .hook('preAction', refuseUnknownWord)
    .action(async options => (await import('./commands/logs.ts')).listLogs(options))
  logs
    .command('show')
    .argument('<id>', "a request's id")
    .description('one request, with its charge explained')
    .action(async (id, _options, command: Command) =>
      (await import('./commands/logs.ts')).showLog(id, command.optsWithGlobals()),
    )
}

/** Events and their receivers. */
function addEvents(program: Command): void {
  const events = program.command('events').description('events and their receivers')
  events
    .command('list')
    .description('what happened, charges among it, in the order in which they were written down')
    .option('--after <id>', 'after this event')
    .option('--since <time>', 'since a date (2026-11-01, UTC), a moment, or a time ago (2h)')
    .option('--kind <kind...>', 'of these kinds, such as charge.settled or budget.*')
    .option('--limit <count>', 'how many', parseCount, 100)
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/events.ts')).listEvents(options))
  events
    .command('redeliver')
    .description('send one event to a webhook again, or all after one')
    .option('--webhook <name>', 'which, as the configuration calls it (needed)')
    .hook('preAction', needs('webhook'))
    .option('--after <id>', 'all after this event')
    .option('--id <id>', 'this event')
    .addOption(configOption())
    .action(async options => (await import('./commands/events.ts')).redeliver(options))
}

/** Charges and their proof. */
function addLedger(program: Command): void {
  const ledger = program.command('ledger').description('charges and their proof')
  ledger
    .command('verify')
    .description('check every invariant of the ledger; exit 1 when one is broken')
    .option('--anchor <file>', 'hold it against anchors too: one a line, or a log of the gateway; - for standard input')
    .option('--rebuild-sums', 'first rebuild the sums of costs, and correct budgets by their charges')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/ledger.ts')).verify(options))
  ledger
    .command('anchor')
    .description('print the state of the ledger, as one line to keep elsewhere')
    .addOption(configOption())
    .action(async options => (await import('./commands/ledger.ts')).anchor(options))
  ledger
    .command('replay')
    .description('rate every charge again from its stored facts; exit 1 when one differs')
    .option('--rebuild-sums', 'instead: rebuild the sums of costs, and correct budgets; also while a gateway runs')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/ledger.ts')).replay(options))
  ledger
    .command('resolve')
    .argument('<id>', "a charge's id")
    .description('end a charge that needs review')
    .addOption(new Option('--as <how>', 'what became of it').choices(['settle', 'void']).default('void'))
    .option('--amount <money>', 'with --as settle: what it costs, at most what was held; 0 by default')
    .option('--reason <text>', 'why', '')
    .addOption(configOption())
    .action(async (id, options) => (await import('./commands/ledger.ts')).resolve(id, options))
  ledger
    .command('refund')
    .argument('<id>', "a charge's id")
    .description('give back what was charged, with a reason, by an opposite entry')
    .option('--reason <text>', 'why', '')
    .addOption(configOption())
    .action(async (id, options) => (await import('./commands/ledger.ts')).refund(id, options))
  ledger
    .command('reprice')
    .description(
      'apply the prices of the configuration to past charges: each that differs is refunded and booked again',
    )
    .requiredOption('--since <moment>', 'from then on: a date, a moment, a time ago (7d), today or yesterday')
    .option('--until <moment>', 'before then; now by default')
    .option('--zone <name>', 'the time zone of these; that of the budgets by default')
    .option('--dry-run', 'print the differences and book nothing')
    .option('--apply', 'book the differences')
    .option('--reason <text>', 'the reason; it is in both entries', 'prices corrected')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/reprice.ts')).reprice(options))
  ledger
    .command('find-withheld')
    .description('list charges that were settled although the answer was cut off for something unknown in it')
    .option('--refund', 'give back what was charged, with a reason, by an opposite entry for each', false)
    .option('--reason <text>', 'with --refund: why', 'charged and withheld')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/find-withheld.ts')).findWithheld(options))
}

/** The work on a configuration while nothing runs. */
function addConfigurationCommands(program: Command): void {
  program
    .command('init')
    .argument('[folder]', 'where', '.')
    .description('make a folder ready to serve: gateway.yaml, .env.example, lines of .gitignore; or add vendors to one')
    .option(
      '--upstream <name=url>',
      'where an upstream is, as in alpha=https://api.example.com; may be said again',
      parseUpstream,
      new Map(),
    )
    .option(
      '--vendor <name>',
      'a recipe to begin with, or to add to the gateway.yaml that is there; may be said again (`tollgate recipes` lists them)',
      (name: string, before: readonly string[]) => [...before, name],
      [],
    )
    .option('--currency <code>', 'currency of every price')
    .option('--listen <address>', 'where callers reach the gateway')
    .option('--ops <address>', 'where operators reach it')
    .option('--storage <url>', 'where keys and charges are kept')
    .option('--counters <url>', 'where limits are counted')
    .option('-y, --yes', 'no questions: accept the defaults for what no flag sets', false)
    .option('--force', 'write over files that are there', false)
    .action(async (folder, options) => (await import('./commands/init.ts')).init(folder, options))
  program
    .command('recipes')
    .argument('[name]', 'one of them: print its lines of gateway.yaml')
    .description('list the vendors that a gateway.yaml can begin with: models, operations, and what they need')
    .addOption(formatOption(['text', 'json']))
    .action(async (name: string | undefined, options) => (await import('./commands/recipes.ts')).recipes(name, options))
  program
    .command('fmt')
    .argument('[file]', 'the configuration, as with -c')
    .description('write a configuration in its canonical layout; comments stay')
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .option('--check', 'write nothing; exit 1 when it is not', false)
    .action(async (file: string | undefined, options) =>
      (await import('./commands/fmt.ts')).fmt(file ?? options.config, options),
    )
  program
    .command('lint')
    .alias('audit')
    .argument('[file]', 'the configuration, as with -c')
    .description('look in a valid configuration for what is dangerous; exit 1 when an error is among it')
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .option('--ignore <rules>', 'rules to leave out, separated by commas', splitNames, [])
    .option('--rules', 'list the rules instead', false)
    .addOption(formatOption(['text', 'json', 'github', 'sarif']))
    .action(async (file: string | undefined, options) =>
      (await import('./commands/lint.ts')).lint(file ?? options.config, options),
    )
  const config = program
    .command('config')
    .argument('[key]', 'the only part to print, such as server or models.NAME')
    .description('print the configuration in effect, defaults too; secrets are redacted')
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .option('--show-origin', 'where each value came from', false)
    .addOption(formatOption(['text', 'json']))
    .action(async (key: string | undefined, options) => (await import('./commands/config.ts')).showConfig(key, options))
  config
    .command('cost')
    .argument('<file>', 'the configuration whose prices are meant')
    .description('what the charges of some time would have cost under another configuration, each rated again')
    .option('--since <when>', 'from a date, a moment, a time ago (7d); the beginning of last month by default')
    .option('--until <when>', 'before then, in the same words; the end of last month, or now')
    .option('--zone <name>', 'what dates are read in: a zone such as Europe/Berlin, UTC, or local; that of budgets')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    // Options that the command above has too are read as that one's.
    .action(async (file: string, _own, command: Command) =>
      (await import('./commands/config-cost.ts')).configCost(file, command.optsWithGlobals()),
    )
  addConfigHistory(config)
  program
    .command('diff')
    .argument('[file]', 'the configuration, as with -c')
    .description('what a configuration would change of the running gateway, prices first')
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .option('--against <file>', 'compare with this configuration instead; nothing has to run')
    .addOption(opsOption())
    .addOption(formatOption(['text', 'json']))
    .action(async (file: string | undefined, options) =>
      (await import('./commands/diff.ts')).diff(file ?? options.config, { ...options, config: file ?? options.config }),
    )
  program
    .command('docs')
    .argument('[key]', 'such as models.prices, image-tier-billing.tier_from')
    .description('explain a key of the configuration, and its allowed values')
    .addOption(formatOption(['text', 'json']))
    .action(async (key: string | undefined, options) => (await import('./commands/docs.ts')).docs(key, options))
}

/** What took effect on the storage. */
function addConfigHistory(config: Command): void {
  config
    .command('history')
    .description(
      'configurations that took effect on the storage, newest first: when, who or what brought them, what changed',
    )
    .option('--limit <count>', 'how many', parseCount, 20)
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async (_own, command: Command) =>
      (await import('./commands/config-history.ts')).listConfigHistory(command.optsWithGlobals()),
    )
  config
    .command('diff')
    .argument('<id>', 'one that the history lists', parseCount)
    .argument('[other]', 'the one to compare it with; the one before it', parseCount)
    .description('what a configuration that took effect changed: what it means, and its lines without secrets')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async (id: number, other: number | undefined, _own, command: Command) =>
      (await import('./commands/config-history.ts')).diffConfigHistory(id, other, command.optsWithGlobals()),
    )
}

/** What another gateway has, taken over. */
function addImport(program: Command): void {
  program
    .command('import')
    .argument('<what>', 'the configuration of a LiteLLM; or litellm, new-api or one-api')
    .argument(
      '[source]',
      'its configuration; for new-api and one-api their database: a file of SQLite, a dump of MySQL or MariaDB, or postgres://…',
    )
    .description(
      "translate another gateway's configuration, or take over its database; what cannot be taken over is reported; exit 4 when no model is active",
    )
    .addOption(
      new Option('--from <gateway>', 'the gateway that it is of, if that is not the first argument')
        .choices(['litellm', 'new-api', 'one-api'])
        .default('litellm'),
    )
    .option('--out <file>', 'write it there; absent for standard output')
    .option('--force', 'write over files that are there', false)
    .option('--secrets <folder>', 'write the keys in it there, a file of mode 600 each; absent: variables are named')
    .option('--prices <file>', "a table of prices and modes: LiteLLM's model_prices_and_context_window.json")
    .option(
      '--database <source>',
      "of litellm: its PostgreSQL (postgres://…), or pg_dump's plain text: teams, users, keys",
    )
    .option('--expand', 'patterns such as openai/* become the models that the table has', false)
    .option('--allow-undercharge', 'also take rows of the table that leave out a price', false)
    .option('--local-free', 'models on machines of your own cost nothing', false)
    .option('--mode <mode>', 'what models are for of which nothing says it, such as chat')
    .option('--without-end', 'a dump has no mark of its end, and is whole all the same', false)
    .option('--users-only', 'of a database, users and keys alone: --out names the configuration that is there', false)
    .option('--dry-run', 'write nothing, and report what would happen', false)
    .addOption(formatOption(['text', 'json']))
    .action(async (what: string, source: string | undefined, options) =>
      (await import('./commands/import.ts')).importFrom(what, source, options),
    )
}

/** Tables of prices. */
function addPrices(program: Command): void {
  const prices = program.command('prices').description('tables of prices: made of others, compared, and what is in use')
  const onlyOption = (): Option =>
    new Option('--only <names>', 'of these alone, separated by commas; * matches any part of a name')
      .argParser(splitNames)
      .default([], 'all')
  prices
    .command('import')
    .argument('<file>', 'the table; - for standard input')
    .description('make a file for price_tables from another table; reports what is left out, with the reason')
    .addOption(new Option('--from <whose>', 'whose table it is (needed)').choices(priceSources))
    .hook('preAction', needs('from'))
    .addOption(onlyOption())
    .option('--provider <names>', 'of these providers alone, as the table calls them, by commas', splitNames, [])
    .option('--allow-undercharge', 'also take rows that leave out a price; check reports each', false)
    .option('--source <text>', "where it was found, as the file is to say it; the table's name by default")
    .option('--as-of <day>', 'the day on which it was found; today by default')
    .option('-o, --out <file>', 'write it there, over what an import wrote there; absent for standard output')
    .option('--force', 'overwrite a file that was written or changed by hand', false)
    .addOption(formatOption(['text', 'json']))
    .action(async (file: string, options) => (await import('./commands/prices.ts')).importTable(file, options))
  prices
    .command('diff')
    .argument('<file>', 'a file of prices; the older one where there are two')
    .argument('[newer]', 'the newer one; without it the configuration is held against the first')
    .description(
      'what a newer table changes, by model and unit; exit 1 when something, 0 when nothing, 2 or 3 on trouble',
    )
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .addOption(onlyOption())
    .option('--from-tables', 'of the configuration, only models whose prices are in a table', false)
    .addOption(formatOption(['text', 'json']))
    .action(async (file: string, newer: string | undefined, options) =>
      (await import('./commands/prices.ts')).diffTables(file, newer, options),
    )
  prices
    .command('list')
    .description('what every model costs, with the file and line of each price')
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/prices.ts')).listTable(options))
}

function addModelCommands(program: Command): void {
  const models = program.command('models').description('models')
  models
    .command('list')
    .description('what is offered: by which family and upstreams, for which operations, at what price')
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/models.ts')).listModels(options))
  models
    .command('test')
    .argument('[models...]', 'their names; all that are offered when none is named')
    .description('send one small request for each through the running gateway; exit 1 when one fails')
    .option('--url <url>', 'where it listens; else as the configuration says')
    .option('-y, --yes', 'buy what is not free without confirmation', false)
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async (names, options) => (await import('./commands/models.ts')).testModels(names, options))
}

/** The work on a gateway that runs, and on its storage. */
function addRunningCommands(program: Command): void {
  program
    .command('reload')
    .description('have the running gateway read its configuration again; exit 3 when it refuses it, 4 when none runs')
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .addOption(opsOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/reload.ts')).reload(options))
  program
    .command('status')
    .description('how the running gateway is; exit 4 when none runs')
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .addOption(opsOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/status.ts')).status(options))
  program
    .command('healthcheck')
    .description('exit 0 when the gateway answers, else 1: for containers')
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .addOption(opsOption())
    .option('--ready', 'only when it takes work', false)
    .action(async options => (await import('./commands/healthcheck.ts')).healthcheck(options))
  program
    .command('doctor')
    .description('look at everything that a gateway needs; exit 1 when something would keep it from working')
    .option('-c, --config <file>', 'the configuration', 'gateway.yaml')
    .option(
      '--live <models>',
      'buy the smallest picture of these models, separated by commas, and report the result',
      splitNames,
      [],
    )
    .option('--live-all', 'the same of every model that has a real upstream', false)
    .option('--simulated', 'with --live: simulated upstreams too', false)
    .option('-y, --yes', 'with --live: buy without confirmation', false)
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/doctor.ts')).doctor(options))
  addModelCommands(program)
  program
    .command('usage')
    .description('what was charged, added up')
    .addOption(new Option('--by <what>', 'what to add up').choices(usageSorts).default('day'))
    .option('--since <when>', 'a date, a moment, a time ago, today or yesterday; 30d by default')
    .option('--until <when>', 'before then, in the same words; now by default')
    .addOption(zoneOption('what dates are read in, and whose days they are', 'UTC'))
    .option('--against-vendor', 'by model and day, next to what the vendors report as their charge', false)
    .addOption(configOption())
    .addOption(formatOption(['text', 'csv', 'json']))
    .action(async options => (await import('./commands/usage.ts')).usage(options))
  program
    .command('statement')
    .description("a month's statement of every user and group, held against the ledger; exit 1 when the two differ")
    .option('--month <month>', 'such as 2026-11 (needed)')
    .hook('preAction', needs('month'))
    .option('--user <name>', 'of one user')
    .option('--group <name>', 'of one group')
    .option('--balances', 'prepaid balances alone: opening, paid in, charged, refunded, closing', false)
    .addOption(zoneOption('whose months they are', 'UTC'))
    .addOption(configOption())
    .addOption(formatOption(['table', 'csv', 'html', 'json']).default('table'))
    .action(async options => (await import('./commands/statement.ts')).statement(options))
  program
    .command('backup')
    .argument('<file>', 'where to write it; it must not be there')
    .description('copy the database of SQLite, also while a gateway runs')
    .addOption(configOption())
    .action(async (file, options) => (await import('./commands/backup.ts')).backup(file, options))
  program
    .command('restore')
    .argument('<file>', 'what backup wrote')
    .description('put a copy in the place of the database; what was there is kept aside')
    .addOption(configOption())
    .action(async (file, options) => (await import('./commands/backup.ts')).restore(file, options))
  addStorage(program)
}

/** The storage itself. */
function addStorage(program: Command): void {
  const storage = program.command('storage').description('where keys, charges and the log are kept')
  storage
    .command('copy')
    .description('copy everything into an empty storage, SQLite or PostgreSQL, and prove the copy before it is kept')
    .option('--from <url>', 'what to copy: sqlite:FILE or postgres://…; else what the configuration names')
    .option('--to <url>', 'where to, in the same words (needed)')
    .hook('preAction', needs('to'))
    .option('--snapshot', 'while a gateway runs, as it is at one moment: later charges are not in it', false)
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/storage.ts')).copy(options))
  storage
    .command('migrate')
    .description(
      'bring the schema of an older version up to date; waits until every gateway of that version has stopped',
    )
    .addOption(configOption())
    .addOption(formatOption(['text', 'json']))
    .action(async options => (await import('./commands/storage.ts')).migrate(options))
}

/** What a key may be given when it is made, and later. */
function addSettings(command: Command): Command {
  return command
    .option('--group <group>', "a group of its own instead of the user's")
    .option('--models <names>', 'the only models it may use, separated by commas; * for the rest of a name')
    .option('--ips <addresses>', 'the only addresses or CIDR blocks it may come from, separated by commas')
    .option('--expires <when>', 'the end of it: a date (2027-01-31, UTC) or a time from now (30d)')
    .option('--rpm <count>', 'requests in any 60 seconds, where that is less than its group has')
    .option('--tpm <count>', 'tokens in any 60 seconds, where that is less than its group has')
    .option('--concurrency <count>', 'requests in flight at once')
    .option('--budget <amount>', 'what may be spent with it, as in 25.00')
    .option('--budget-period <period>', 'what the budget lasts for: total, day or month (of budgets.time_zone)')
}

function* everyCommand(command: Command, name: string): Iterable<{ readonly command: Command; readonly name: string }> {
  yield { command, name }
  for (const child of command.commands) yield* everyCommand(child, `${name} ${child.name()}`)
}

/** An option that has to be there. Commander's own check comes before that of unknown options, and hides a slip in the name. */
function needs(option: string): (command: Command) => void {
  return command => {
    if (command.getOptionValue(option) === undefined)
      command.error(`error: required option '--${option} <${option}>' not specified`)
  }
}

/** A command that works by itself and has others below it takes a misspelt one for an argument. */
function refuseUnknownWord(command: Command, running: Command): void {
  const [word] = command.args
  if (word === undefined || command !== running) return
  const names = command.commands.map(child => child.name()).join(', ')
  command.error(`error: unknown command '${word}'\n(${command.name()} has: ${names})`)
}

function configOption(): Option {
  return new Option('-c, --config <file>', 'the configuration that names the storage').default('gateway.yaml')
}

function zoneOption(what: string, usual: string): Option {
  return new Option('--zone <name>', `${what}: a zone such as Europe/Berlin, UTC, or local`).default(usual)
}

function opsOption(): Option {
  return new Option('--ops <address>', 'where it listens for operators, as host:port; else as the configuration says')
}

function formatOption(formats: readonly string[]): Option {
  return new Option('--format <format>', 'for people, or for programs: with json messages are records too')
    .choices(formats)
    .default('text')
}

function parseUpstream(text: string, before: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const [, name, url] = /^([\w-]+)=(.+)$/.exec(text) ?? []
  if (name === undefined || url === undefined) throw new InvalidArgumentError('write NAME=URL.')
  return new Map([...before, [name, url]])
}

function splitNames(text: string, before: readonly string[]): readonly string[] {
  return [...before, ...text.split(',').map(name => name.trim())]
}

function parseCount(text: string): number {
  const count = Number(text)
  if (!Number.isSafeInteger(count) || count < 1) throw new InvalidArgumentError('a whole number from 1 is needed.')
  return count
}
