// Keeps the newest content of a scrolling box in sight, until the reader scrolls away from it.

const NEAR = 48; // pixels from the end that count as being there

/** Makes `scroller` follow the end of `content`, its only child, whenever that grows or is drawn to another size. */
export function followEnd(scroller, content) {
  let following = true;
  let top = 0;
  let height = 0;
  new ResizeObserver(() => {
    if (following) scroller.scrollTop = scroller.scrollHeight;
  }).observe(content);
  scroller.addEventListener(
    "scroll",
    () => {
      const { scrollTop, scrollHeight, clientHeight } = scroller;
      // Upwards while nothing changed size: that was the reader, not the browser.
      if (scrollTop < top && scrollHeight === height) following = false;
      if (scrollHeight - scrollTop - clientHeight < NEAR) following = true;
      top = scrollTop;
      height = scrollHeight;
    },
    { passive: true },
  );
}
