'use strict';
{
  const pre = document.createElement('pre');
  pre.textContent = JSON.stringify(JSON.parse(document.getElementById('tape').textContent), null, 1);
  document.getElementById('page').append(pre);
}
