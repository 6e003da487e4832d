// The system keyring: Secret Service on Linux (secret-tool), Keychain on macOS (security). It stores one short secret, passed on stdin:
// other users' processes can read arguments. Any failure counts as no keyring: a locked keyring on a server must not block the user.
import { spawn } from 'node:child_process'

export interface Keyring {
  /** Its name for people. */
  readonly name: string
  /** Null if it has no such secret or cannot be used. */
  read(): Promise<string | null>
  /** Whether the secret is stored now. */
  write(secret: string): Promise<boolean>
  remove(): Promise<void>
}

const SERVICE = 'matoolkit'
/** Long enough for a person to type the password of a locked keyring. */
const TIMEOUT_MS = 60_000

/** These characters need no quoting anywhere. */
const WORD = /^[\w-]+$/

export function openKeyring(
  account: string,
  platform: NodeJS.Platform = process.platform,
): Keyring | null {
  if (!WORD.test(account)) throw new RangeError(`"${account}" is not a valid keyring account`)
  if (platform === 'linux') return secretService(account)
  return platform === 'darwin' ? keychain(account) : null
}

function secretService(account: string): Keyring {
  const attributes = ['service', SERVICE, 'account', account]
  const read = () => runProgram('secret-tool', ['lookup', ...attributes])
  return {
    name: 'the keyring of this system',
    read,
    write: async (secret) => {
      const label = '--label=matoolkit sign-ins'
      await runProgram('secret-tool', ['store', label, ...attributes], secret)
      return (await read()) === secret
    },
    remove: async () => void (await runProgram('secret-tool', ['clear', ...attributes])),
  }
}

function keychain(account: string): Keyring {
  const attributes = ['-s', SERVICE, '-a', account]
  const read = () => runProgram('security', ['find-generic-password', ...attributes, '-w'])
  return {
    name: 'the Keychain',
    read,
    write: async (secret) => {
      if (!WORD.test(secret)) throw new RangeError('the secret needs quotes')
      // It reads commands from stdin but reports no errors, so the secret is read back.
      const command = ['add-generic-password', '-U', ...attributes, '-w', secret].join(' ')
      await runProgram('security', ['-i'], `${command}\n`)
      return (await read()) === secret
    },
    remove: async () =>
      void (await runProgram('security', ['delete-generic-password', ...attributes])),
  }
}

/** The program's stdout; null if it is missing, fails or prints nothing. */
function runProgram(program: string, args: readonly string[], input = ''): Promise<string | null> {
  return new Promise((resolve) => {
    // Not the option `timeout`: its timer outlived a missing program and kept this process alive for a minute.
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'], signal })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    child.on('error', () => resolve(null))
    child.on('close', (code) => resolve(code === 0 && output !== '' ? output.trimEnd() : null))
    // The program may end before it has read everything.
    child.stdin.on('error', () => {})
    child.stdin.end(input)
  })
}
