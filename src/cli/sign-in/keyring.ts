// The keyring of the operating system, where it has one that a program can be asked for: the Secret Service on Linux (secret-tool)
// and the Keychain on macOS (security). It holds one short secret, never as an argument, which other people's processes could read.
// Whatever goes wrong with it means that there is none: a keyring that is locked on a server must not keep anybody from working.
import { spawn } from 'node:child_process'

export interface Keyring {
  /** What people call it. */
  readonly name: string
  /** Null when it holds nothing under this name, or cannot be asked. */
  read(): Promise<string | null>
  /** Whether it holds the secret now. */
  write(secret: string): Promise<boolean>
  remove(): Promise<void>
}

const SERVICE = 'matoolkit'
/** Long enough for a person to type the password of a keyring that is locked. */
const TIMEOUT_MS = 60_000

/** Letters, digits, "-" and "_" only: they need no quotes anywhere. */
const WORD = /^[\w-]+$/

export function openKeyring(
  account: string,
  platform: NodeJS.Platform = process.platform,
): Keyring | null {
  if (!WORD.test(account)) throw new RangeError(`"${account}" is no name for a keyring`)
  if (platform === 'linux') return secretService(account)
  return platform === 'darwin' ? keychain(account) : null
}

function secretService(account: string): Keyring {
  const attributes = ['service', SERVICE, 'account', account]
  const read = () => ask('secret-tool', ['lookup', ...attributes])
  return {
    name: 'the keyring of this system',
    read,
    write: async (secret) => {
      const label = '--label=matoolkit sign-ins'
      await ask('secret-tool', ['store', label, ...attributes], secret)
      return (await read()) === secret
    },
    remove: async () => void (await ask('secret-tool', ['clear', ...attributes])),
  }
}

function keychain(account: string): Keyring {
  const attributes = ['-s', SERVICE, '-a', account]
  const read = () => ask('security', ['find-generic-password', ...attributes, '-w'])
  return {
    name: 'the Keychain',
    read,
    write: async (secret) => {
      if (!WORD.test(secret)) throw new RangeError('the secret needs quotes')
      // Its commands can be read from stdin; it says little about how they went, so the secret is looked up.
      const command = ['add-generic-password', '-U', ...attributes, '-w', secret].join(' ')
      await ask('security', ['-i'], `${command}\n`)
      return (await read()) === secret
    },
    remove: async () => void (await ask('security', ['delete-generic-password', ...attributes])),
  }
}

/** What a program says on stdout; null when it is not there, fails or says nothing. */
function ask(program: string, args: readonly string[], input = ''): Promise<string | null> {
  return new Promise((resolve) => {
    // Not the option `timeout`: its timer outlives a program that is not there, and kept this process for a minute.
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'], signal })
    let said = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    child.on('error', () => resolve(null))
    child.on('close', (code) => resolve(code === 0 && said !== '' ? said.trimEnd() : null))
    // It may end before it has read everything.
    child.stdin.on('error', () => {})
    child.stdin.end(input)
  })
}
