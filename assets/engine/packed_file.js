/** Files that a page holds within itself, as base64. Pure. */

/** @param {string} text in base64 @returns {ArrayBuffer} */
export function unpacked(text) {
  const bytes = atob(text);
  const buffer = new ArrayBuffer(bytes.length);
  const at = new Uint8Array(buffer);
  for (let i = 0; i < bytes.length; i++) at[i] = bytes.charCodeAt(i);
  return buffer;
}

/** @param {ArrayBuffer} buffer @returns {string} in base64 */
export function packed(buffer) {
  const bytes = new Uint8Array(buffer);
  const part = 0x6000; // a multiple of three, so that parts join; and no more arguments than every engine takes
  let text = "";
  for (let i = 0; i < bytes.length; i += part) text += btoa(String.fromCharCode(...bytes.subarray(i, i + part)));
  return text;
}
